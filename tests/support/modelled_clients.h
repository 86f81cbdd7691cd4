// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "machine/filesystem.h"

namespace igpu::test {

// The real /proc, in which an open file below a folder, if it has the name of a DRM node, is a DRM client: its fdinfo
// is what the file holds. So real processes have clients without a GPU.
class ModelledClients final : public Directory {
 public:
  ModelledClients(std::unique_ptr<Directory> real, std::string folder)
      : real_(std::move(real)), folder_(std::move(folder)), files_(open_root(folder_)) {}

  Reading<std::string_view> read(std::string_view path, std::span<char> buffer) const override {
    return real_->read(path, buffer);
  }
  Reading<std::string_view> read_start(std::string_view path, std::span<char> buffer) const override {
    constexpr std::string_view kInfo = "fdinfo/";
    const std::size_t at = path.find(kInfo);
    if (at == std::string_view::npos) return real_->read_start(path, buffer);
    const auto target = real_->read_link(std::string(path).replace(at, kInfo.size(), "fd/"));
    if (!target || !target->starts_with(folder_ + "/")) return real_->read_start(path, buffer);
    return files_->read_start(target->substr(folder_.size() + 1), buffer);
  }
  Reading<std::unique_ptr<File>> open(std::string_view path) const override { return real_->open(path); }
  Reading<std::unique_ptr<Directory>> open_directory(std::string_view path) const override {
    auto opened = real_->open_directory(path);
    if (!opened) return opened;
    return std::unique_ptr<Directory>(std::make_unique<ModelledClients>(*std::move(opened), folder_));
  }
  Reading<Unit> for_each(std::string_view path, const std::function<bool(std::string_view)>& visit) const override {
    return real_->for_each(path, visit);
  }
  Reading<std::string> read_link(std::string_view path) const override { return real_->read_link(path); }
  Reading<std::string> resolve(std::string_view path) const override { return real_->resolve(path); }
  Reading<FileFacts> stat(std::string_view path) const override { return real_->stat(path); }

 private:
  std::unique_ptr<Directory> real_;
  std::string folder_;
  std::unique_ptr<Directory> files_;
};

}  // namespace igpu::test
