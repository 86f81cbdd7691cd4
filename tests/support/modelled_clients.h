// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "support/forwarding_directory.h"

namespace igpu::test {

// The real /proc, in which an open file below a folder, if it has the name of a DRM node, is a DRM client: its fdinfo
// is what the file holds. So real processes have clients without a GPU.
class ModelledClients final : public ForwardingDirectory {
 public:
  ModelledClients(std::unique_ptr<Directory> real, std::string folder)
      : ForwardingDirectory(std::move(real)), folder_(std::move(folder)), files_(open_root(folder_)) {}

  Reading<std::string_view> read_start(std::string_view path, std::span<char> buffer) const override {
    constexpr std::string_view kInfo = "fdinfo/";
    const std::size_t at = path.find(kInfo);
    if (at == std::string_view::npos) return inner().read_start(path, buffer);
    const auto target = inner().read_link(std::string(path).replace(at, kInfo.size(), "fd/"));
    if (!target || !target->starts_with(folder_ + "/")) return inner().read_start(path, buffer);
    return files_->read_start(target->substr(folder_.size() + 1), buffer);
  }
  Reading<std::unique_ptr<Directory>> open_directory(std::string_view path) const override {
    auto opened = inner().open_directory(path);
    if (!opened) return opened;
    return std::unique_ptr<Directory>(std::make_unique<ModelledClients>(*std::move(opened), folder_));
  }

 private:
  std::string folder_;
  std::unique_ptr<Directory> files_;
};

}  // namespace igpu::test
