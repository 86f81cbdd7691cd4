// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "machine/filesystem.h"

namespace igpu::test {

// A directory that answers as another one. Tests derive from it and override what is to differ.
class ForwardingDirectory : public Directory {
 public:
  // inner must outlive it.
  explicit ForwardingDirectory(const Directory& inner) : inner_(&inner) {}
  explicit ForwardingDirectory(std::unique_ptr<Directory> inner) : owned_(std::move(inner)), inner_(owned_.get()) {}

  Reading<std::string_view> read(std::string_view path, std::span<char> buffer) const override {
    return inner_->read(path, buffer);
  }
  Reading<std::string_view> read_start(std::string_view path, std::span<char> buffer) const override {
    return inner_->read_start(path, buffer);
  }
  Reading<std::unique_ptr<File>> open(std::string_view path) const override { return inner_->open(path); }
  Reading<std::unique_ptr<Directory>> open_directory(std::string_view path) const override {
    return inner_->open_directory(path);
  }
  Reading<Unit> for_each(std::string_view path, const std::function<bool(std::string_view)>& visit) const override {
    return inner_->for_each(path, visit);
  }
  Reading<std::string> read_link(std::string_view path) const override { return inner_->read_link(path); }
  Reading<std::string> resolve(std::string_view path) const override { return inner_->resolve(path); }
  Reading<FileFacts> stat(std::string_view path) const override { return inner_->stat(path); }

 protected:
  const Directory& inner() const { return *inner_; }

 private:
  std::unique_ptr<Directory> owned_;
  const Directory* inner_;
};

}  // namespace igpu::test
