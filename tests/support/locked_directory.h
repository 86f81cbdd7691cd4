// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "support/forwarding_directory.h"

namespace igpu::test {

// A directory in which some paths (relative to the tree's root) may not be opened. File modes cannot show that: tests
// run as root.
class LockedDirectory final : public ForwardingDirectory {
 public:
  using Locked = std::function<bool(std::string_view path)>;

  // inner must outlive it.
  LockedDirectory(const Directory& inner, Locked is_locked)
      : ForwardingDirectory(inner), locked_(std::move(is_locked)) {}

  Reading<std::string_view> read(std::string_view path, std::span<char> buffer) const override {
    if (locked(path)) return absent_of_errno(EACCES);
    return inner().read(path, buffer);
  }
  Reading<std::string_view> read_start(std::string_view path, std::span<char> buffer) const override {
    if (locked(path)) return absent_of_errno(EACCES);
    return inner().read_start(path, buffer);
  }
  Reading<std::unique_ptr<File>> open(std::string_view path) const override {
    if (locked(path)) return absent_of_errno(EACCES);
    return inner().open(path);
  }
  Reading<std::unique_ptr<Directory>> open_directory(std::string_view path) const override {
    if (locked(path)) return absent_of_errno(EACCES);
    auto below = inner().open_directory(path);
    if (!below) return below;
    return std::unique_ptr<Directory>(
        new LockedDirectory(std::move(*below), locked_, prefix_ + std::string(path) + "/"));
  }
  Reading<Unit> for_each(std::string_view path, const std::function<bool(std::string_view)>& visit) const override {
    if (locked(path)) return absent_of_errno(EACCES);
    return inner().for_each(path, visit);
  }

 private:
  LockedDirectory(std::unique_ptr<Directory> inner, Locked is_locked, std::string prefix)
      : ForwardingDirectory(std::move(inner)), locked_(std::move(is_locked)), prefix_(std::move(prefix)) {}

  bool locked(std::string_view path) const { return locked_(prefix_ + std::string(path)); }

  Locked locked_;
  std::string prefix_;
};

}  // namespace igpu::test
