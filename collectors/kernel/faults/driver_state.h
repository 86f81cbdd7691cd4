// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "igpu/device.h"
#include "igpu/reading.h"
#include "kernel/device/drm_uapi.h"
#include "kernel/sysfs/attribute.h"
#include "machine/drm_node.h"
#include "machine/filesystem.h"

namespace igpu {

// Whether the kernel holds a captured GPU hang. i915: <card>/error, readable by root only, has the text "No error state
// collected" if there is none (i915_sysfs.c); xe: a device core dump exists, which every user can see
// (<pci>/devcoredump, /sys/class/devcoredump).
class ErrorState {
 public:
  ErrorState(const Directory& sys, const Gpu& gpu)
      : sys_(sys),
        driver_(gpu.driver),
        pci_path_(gpu.pci_path),
        error_file_(gpu.pci_path + "/drm/" + gpu.card + "/error") {}
  Reading<bool> captured() {
    if (driver_ == Driver::xe) return core_dump_exists();
    if (!file_) {
      auto opened = sys_.open(error_file_);
      if (!opened) return opened.propagate<bool>();
      file_ = std::move(*opened);
    }
    std::array<char, 64> buffer;
    const auto text = file_->read(buffer);
    if (text && !text->empty()) return !text->starts_with("No error state");
    // A dump can be megabytes; what the kernel says without one is a few words.
    if (text.is_failure() && text.failure().code == std::errc::file_too_large) return true;
    file_.reset();
    if (!text) return text.propagate<bool>();
    return Absent{Reason::kernel};
  }

 private:
  Reading<bool> core_dump_exists() {
    if (file_exists(sys_, pci_path_ + "/devcoredump")) return true;
    bool found = false;
    const auto listed = sys_.for_each("class/devcoredump", [&](std::string_view name) {
      const auto device = sys_.resolve("class/devcoredump/" + std::string(name) + "/failing_device");
      found = device && *device == pci_path_;
      return !found;
    });
    if (listed.is_failure()) return listed.failure();
    // The class appears with the first dump, or never if the kernel has no core dumps: either way none is held.
    return found;
  }

  const Directory& sys_;
  Driver driver_;
  std::string pci_path_;
  std::string error_file_;
  std::unique_ptr<File> file_;
};

// The mode in which xe holds a card whose firmware failed, so that it can be flashed (xe_survivability_mode.c;
// Battlemage and later cards, from Linux 6.15). A card that enters it at boot has no DRM node; from Linux 6.19 on a
// card can enter it at run time. True
// if the mode's file exists: every user can see that, while only root can read the file. Does not resume the GPU.
inline Reading<bool> in_survivability_mode(const Directory& sys, std::string_view pci_path) {
  const auto facts = sys.stat(std::string(pci_path) + "/survivability_mode");
  if (facts) return true;
  if (facts.is_absent() && facts.absent().reason == Reason::kernel) return false;
  return facts.propagate<bool>();
}

// Asks the driver whether it has given the GPU up: i915 answers DRM_IOCTL_I915_GEM_THROTTLE with EIO
// (i915_gem_throttle.c), xe every call with ECANCELED (xe_device.c). xe also does so for a short time while it recovers
// from a PCIe error. The call resumes a sleeping GPU: use it only on one that is awake.
class WedgedProbe {
 public:
  WedgedProbe(DrmNodes& nodes, const Gpu& gpu) : nodes_(nodes), driver_(gpu.driver), name_(gpu.render_node) {}
  Reading<bool> is_wedged() {
    if (name_.empty()) return Absent{Reason::kernel, ENOENT};  // it made none
    if (!node_) {
      auto opened = nodes_.open(name_);
      // The kernel has the node, but this container was not given it.
      if (opened.is_absent() && opened.absent().os_error == ENOENT) return Absent{Reason::permission, ENOENT};
      if (!opened) return opened.propagate<bool>();
      node_ = *std::move(opened);
    }
    const Reading<Unit> answer = call();
    if (answer) return false;
    const auto is = [&](int error) {
      return answer.is_failure() && answer.failure().code == std::error_code(error, std::generic_category());
    };
    if (is(driver_ == Driver::i915 ? EIO : ECANCELED)) return true;
    node_.reset();  // an open node pins the driver's module
    if (is(EINVAL) || is(ENOTTY)) return Absent{Reason::kernel, EINVAL};
    return answer.propagate<bool>();
  }
  // Call when the GPU has gone: an open node would pin its driver's module.
  void close() { node_.reset(); }

 private:
  Reading<Unit> call() {
    if (driver_ == Driver::i915) return node_->ioctl(drm::kIoctlI915Throttle, nullptr);
    drm::XeDeviceQuery query{};
    query.query = drm::kXeConfig;  // of size 0: only how long the answer would be
    return node_->ioctl(drm::kIoctlXeDeviceQuery, &query);
  }

  DrmNodes& nodes_;
  const Driver driver_;
  const std::string name_;
  std::unique_ptr<DrmNode> node_;  // kept open while it works
};

}  // namespace igpu
