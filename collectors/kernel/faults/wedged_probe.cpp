// SPDX-License-Identifier: Apache-2.0
#include "kernel/faults/wedged_probe.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include "kernel/device/drm_uapi.h"

namespace igpu {

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
