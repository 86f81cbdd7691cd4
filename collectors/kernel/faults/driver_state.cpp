// SPDX-License-Identifier: Apache-2.0
#include "kernel/faults/driver_state.h"

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "kernel/device/drm_uapi.h"
#include "kernel/sysfs/attribute.h"

namespace igpu {

ErrorState::ErrorState(const Directory& sys, const Gpu& gpu)
    : sys_(sys),
      driver_(gpu.driver),
      pci_path_(gpu.pci_path),
      error_file_(gpu.pci_path + "/drm/" + gpu.card + "/error") {}

Reading<bool> ErrorState::captured() {
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

Reading<bool> ErrorState::core_dump_exists() {
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

Reading<bool> in_survivability_mode(const Directory& sys, std::string_view pci_path) {
  const auto facts = sys.stat(std::string(pci_path) + "/survivability_mode");
  if (facts) return true;
  if (facts.is_absent() && facts.absent().reason == Reason::kernel) return false;
  return facts.propagate<bool>();
}

Reading<bool> WedgedProbe::is_wedged() {
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

Reading<Unit> WedgedProbe::call() {
  if (driver_ == Driver::i915) return node_->ioctl(drm::kIoctlI915Throttle, nullptr);
  drm::XeDeviceQuery query{};
  query.query = drm::kXeConfig;  // of size 0: only how long the answer would be
  return node_->ioctl(drm::kIoctlXeDeviceQuery, &query);
}

}  // namespace igpu
