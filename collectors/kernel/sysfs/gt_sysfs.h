// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/units.h"
#include "kernel/sysfs/attribute.h"
#include "machine/filesystem.h"

// What sysfs reports about a GT: frequencies, throttle reasons, residency. Three layouts, one shape:
//   i915 since 5.19   <card>/gt/gt<M>/rps_*, throttle_reason_*, rc6_residency_ms   (gt/intel_gt_sysfs_pm.c)
//   i915 before       <card>/gt_*_freq_mhz, power/rc6_residency_ms; one GT, "0"    (i915_sysfs.c)
//   xe                <pci>/tile<T>/gt<G>/{freq0,freq0/throttle,gtidle}/           (xe_gt_freq.c, xe_gt_throttle.c,
//                                                                                xe_gt_idle.c)
// On xe everything but rp0 and rpn resumes the device; on i915 residency and throttle reasons do.
namespace igpu {

struct GtFolder {
  unsigned number;
  std::string path;
};
// All GTs of an xe device, over all its tiles, sorted by number. Listing them does not resume the device.
std::vector<GtFolder> xe_gt_folders(const Directory& sys, std::string_view pci_path);

class GtSysfs {
 public:
  struct Limit {
    std::string_view name;  // min, max, boost, rp0, rp1, rpn, rpe, rpa
    Attribute attribute;
  };

  static std::vector<GtSysfs> find(const Directory& sys, const Gpu& gpu);

  const std::string& id() const { return id_; }       // "0", "1": device-wide GT number
  Reading<Hertz> actual() { return hertz(actual_); }  // 0 while parked
  Reading<Hertz> requested() { return hertz(requested_); }
  // rp0 first: the others are checked against it.
  std::vector<Limit>& limits() { return limits_; }
  // Impossible values are Absent{hardware}: 0, more than any GPU reaches, or an operating point (rpe, rpa) above the
  // highest one (rp0). xe on DG2 takes its rpa from another register's bits: 627200 MHz.
  Reading<Hertz> bound(Limit& limit);

  // Calls visit(reason, active) for "any" and for every reason that this GT has a file for or has named; a consistent
  // snapshot if the driver offers one (xe `reasons`). Absent: the GT reports no reasons.
  Reading<Unit> throttle(const std::function<void(std::string_view reason, bool active)>& visit);

  // Calls visit(reason) for the reasons that limit the frequency now. Cheaper than throttle(): it reads the files of
  // reasons only while the frequency is limited.
  Reading<Unit> active_throttle(const std::function<void(std::string_view reason)>& visit);

  // Time in RC6 (xe: C6), milliseconds. On i915 a 32-bit number.
  Reading<std::uint64_t> residency_ms() { return number(residency_); }
  std::optional<std::uint64_t> residency_range() const { return residency_range_; }

 private:
  struct ThrottleReason {
    std::string name;
    Attribute attribute;
  };
  GtSysfs(const Directory& sys, std::string id, const std::string& base, const struct GtLayout& layout);
  static Reading<std::uint64_t> number(Attribute& attribute);
  static Reading<Hertz> hertz(Attribute& megahertz);
  void learn_reasons(std::string_view words, const std::function<void(std::string_view, bool)>& visit);

  const Directory* sys_;
  std::string id_;
  Attribute actual_, requested_, residency_;
  std::optional<Attribute> throttle_status_, throttle_snapshot_;
  bool offers_snapshot_ = false;
  std::vector<Limit> limits_;
  std::string reason_prefix_;  // path of a reason's file without the reason
  std::vector<ThrottleReason> reasons_;
  std::vector<std::string> named_once_;  // reasons of the last snapshot that are not in reasons_
  std::optional<Hertz> highest_;         // rp0; nullopt until it was read
  std::optional<std::uint64_t> residency_range_;
};

// Sleep states of the GTs of an xe device: <pci>/tile<T>/gt<G>/gtidle/idle_residency_ms
// (drivers/gpu/drm/xe/xe_gt_idle.c). G is unique on the device.

// Time in C6 by GT. Reading it resumes a suspended device. The files stay open; virtual functions have none.
class XeGtIdle {
 public:
  struct Residency {
    unsigned gt = 0;
    Reading<std::uint64_t> milliseconds;
  };

  XeGtIdle(const Directory& sys, std::string_view pci_path);
  // In the order of the GT numbers; the view is valid until the next call.
  const std::vector<Residency>& read();

 private:
  std::vector<std::unique_ptr<File>> files_;
  std::vector<Residency> residencies_;
};

}  // namespace igpu
