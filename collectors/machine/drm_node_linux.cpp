// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <string>

#include "igpu/unique_fd.h"
#include "machine/drm_node.h"
#include "machine/filesystem.h"

namespace igpu {
namespace {

class LinuxDrmNode final : public DrmNode {
 public:
  explicit LinuxDrmNode(UniqueFd fd) : fd_(std::move(fd)) {}
  Reading<Unit> ioctl(unsigned long request, void* argument) override {
    // EAGAIN is retried as in libdrm, but not forever.
    for (int attempt = 0; attempt < 100; ++attempt) {
      if (::ioctl(fd_.get(), request, argument) == 0) return Unit{};
      if (errno != EINTR && errno != EAGAIN) break;
    }
    return outcome_of_errno<Unit>(errno, "ioctl of a render node");
  }

 private:
  UniqueFd fd_;
};

class LinuxDrmNodes final : public DrmNodes {
 public:
  explicit LinuxDrmNodes(std::string_view dev_root) : folder_(std::string(dev_root) + "/dri/") {}
  Reading<std::unique_ptr<DrmNode>> open(std::string_view name) override {
    const std::string path = folder_ + std::string(name);
    // Read-only is enough for queries, and the program opens nothing for writing.
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!fd) return outcome_of_errno<std::unique_ptr<DrmNode>>(errno, path);
    return std::unique_ptr<DrmNode>(std::make_unique<LinuxDrmNode>(std::move(fd)));
  }

 private:
  std::string folder_;
};

}  // namespace

std::unique_ptr<DrmNodes> system_drm_nodes(std::string_view dev_root) {
  return std::make_unique<LinuxDrmNodes>(dev_root);
}

}  // namespace igpu
