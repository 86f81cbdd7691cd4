// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <set>
#include <string>

#include "igpu/monitor.h"
#include "run/findings.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr FeatureDescriptor kBusy{"engine_busy", "x.", Need::perf_events};
constexpr KernelAbsence kNoFan[] = {{{}, {}, "no fan", "Linux 6.12 or newer"}};
constexpr FeatureDescriptor kFan{"fan", "x.", Need::nothing_special, false, kNoFan};

Gpu discrete_of(Driver driver) {
  Gpu gpu;
  gpu.driver = driver;
  gpu.kind = GpuKind::discrete;
  return gpu;
}
const Gpu kI915 = discrete_of(Driver::i915), kXe = discrete_of(Driver::xe);

struct Kept {
  TestMachine m;
  KeptFindings findings;
  Gpu gpu;

  Kept() { gpu.kind = GpuKind::discrete; }
  KeptFindings::List explain(std::vector<Finding> noted) {
    return findings.explain(std::move(noted), m.machine(),
                            [&](std::string_view device) { return device.empty() ? nullptr : &gpu; });
  }
  static Finding missing(const FeatureDescriptor& feature, Absent why, const char* device = "0000:03:00.0") {
    return {&feature, "c", device, false, why};
  }
  static Finding available(const FeatureDescriptor& feature) { return {&feature, "c", "0000:03:00.0", true, {}}; }
};

bool says(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

}  // namespace

TEST_SUITE_BEGIN("kept findings");

TEST_CASE("the list is the same object while nothing changes; any change makes a new one") {
  Kept k;
  const std::vector<Finding> some{Kept::available(kBusy), Kept::missing(kFan, {Reason::kernel})};
  const auto first = k.explain(some);
  CHECK(says((*first)[1].hint, "6.12"));
  CHECK(k.explain(some) == first);
  SUBCASE("a reason") {
    CHECK((*k.explain({Kept::available(kBusy), Kept::missing(kFan, {Reason::hardware})}))[1].hint.empty());
  }
  SUBCASE("an errno") {
    CHECK(k.explain({Kept::available(kBusy), Kept::missing(kFan, {Reason::kernel, ENOENT})}) != first);
  }
  SUBCASE("a device") {
    CHECK(k.explain({Kept::available(kBusy), Kept::missing(kFan, {Reason::kernel}, "0000:04:00.0")}) != first);
  }
  SUBCASE("what is there") { CHECK((*k.explain({Kept::available(kBusy), Kept::available(kFan)}))[1].available); }
  SUBCASE("fewer, as of a scrape of some collectors") {
    CHECK(k.explain({Kept::available(kBusy)})->size() == 1);
    CHECK(k.explain(some)->size() == 2);
  }
}

TEST_CASE("a refusal whose cause changes is explained again within a minute") {
  Kept k;
  k.m.tree.write("proc/sys/kernel/perf_event_paranoid", "3\n");
  const std::vector<Finding> refused{Kept::missing(kBusy, {Reason::permission, EACCES})};
  CHECK(says((*k.explain(refused))[0].cause, "is 3"));
  k.m.tree.write("proc/sys/kernel/perf_event_paranoid", "2\n");
  k.m.clock.advance(59s);
  (void)k.explain(refused);
  k.m.clock.advance(1s);
  CHECK(says((*k.explain(refused))[0].cause, "is 2"));
}

TEST_CASE("no hint of any feature wants a release of Linux that the running kernel has reached") {
  std::set<const FeatureDescriptor*> all;
  for (const CollectorDescription& collector : describe_collectors())
    all.insert(collector.features.begin(), collector.features.end());
  std::size_t reached = 0;
  for (const FeatureDescriptor* feature : all) {
    for (const KernelAbsence& row : feature->kernel_absences) {
      if (row.driver == Driver::wddm) continue;
      CAPTURE(feature->name);
      CAPTURE(row.hint);
      const auto hint_on = [&](const char* release) {
        Kept k;
        if (row.driver) k.gpu.driver = *row.driver;
        if (row.kind) k.gpu.kind = *row.kind;
        k.m.tree.write("proc/sys/kernel/osrelease", release);
        k.findings.read_release(k.m.machine());
        return k.explain({Kept::missing(*feature, {Reason::kernel, row.os_error})})->front().hint;
      };
      CHECK_FALSE(says(hint_on("99.1.0-2-amd64\n"), "or newer"));
      CHECK_FALSE(says(hint_on("99.1.0-2-amd64\n"), "Linux"));
      const std::string before = hint_on("4.4.0-142.9-generic\n");
      if (row.hint.find("Linux ") == std::string_view::npos) continue;
      ++reached;
      CHECK(says(before, "or newer"));
    }
  }
  CHECK(reached > 20);
}

TEST_CASE("a reason is that of the GPU's own driver: no hint names another driver's release") {
  std::set<const FeatureDescriptor*> all;
  for (const CollectorDescription& collector : describe_collectors())
    all.insert(collector.features.begin(), collector.features.end());
  for (const FeatureDescriptor* feature : all) {
    for (const Gpu* const gpu : {static_cast<const Gpu*>(nullptr), &kI915, &kXe}) {
      CAPTURE(feature->name);
      const Advice advice = advise(*feature, {Reason::kernel}, {}, gpu);
      CAPTURE(advice.hint);
      const bool names_i915 = says(advice.hint, "i915"), names_xe = says(advice.hint, "for xe");
      CHECK_FALSE((names_i915 && names_xe));
      CHECK_FALSE((gpu == &kI915 && names_xe));
      CHECK_FALSE((gpu == &kXe && names_i915));
    }
  }
}

TEST_CASE("what a hint says beside the release stays; a release that is not reached yet does, too") {
  static constexpr KernelAbsence kRows[] = {
      {{}, {}, "c", "Linux 6.2 or newer, with CONFIG_HWMON", 1},
      {{}, {}, "c", "Linux 5.19 or newer; for GPUs with GuC submission 6.5; Gen7 and older have none", 2},
      {{}, {}, "c", "mount -t debugfs none /sys/kernel/debug; Linux 6.1 or newer with CONFIG_DEBUG_FS", 3},
      {{}, {}, "c", "current GuC firmware; Linux 6.1 or newer", 4},
      {{}, {}, "c", "Linux 6.17 or newer (it came with 6.15 to 6.17)", 5},
      {{}, {}, "c", "a newer kernel with CONFIG_HWMON: it came with 6.2 for i915, with 6.8 for xe", 6},
      {{}, {}, "c", "a newer kernel, if the hardware supports it", 7}};
  // Not empty: a feature without a hint is one that no version of the driver has, which is not missing.
  const std::string new_enough =
      "this kernel is new enough; its driver may come from elsewhere, or be built without it";
  constexpr FeatureDescriptor kFeature{"f", "x.", Need::nothing_special, false, kRows};
  const auto hint = [&](int row, const char* release) {
    Kept k;
    k.m.tree.write("proc/sys/kernel/osrelease", release);
    k.findings.read_release(k.m.machine());
    return k.explain({Kept::missing(kFeature, {Reason::kernel, row})})->front().hint;
  };
  CHECK(hint(1, "6.2.0-39-generic\n") == "a kernel with CONFIG_HWMON");
  CHECK(hint(1, "6.1.0-40-amd64\n") == kRows[0].hint);
  CHECK(hint(2, "6.1.0\n") == kRows[1].hint);
  CHECK(hint(2, "6.5.0\n") == new_enough);
  CHECK(hint(3, "6.12.0-124.8.1.el10\n") == "mount -t debugfs none /sys/kernel/debug; a kernel with CONFIG_DEBUG_FS");
  CHECK(hint(4, "6.1.140\n") == "current GuC firmware");
  CHECK(hint(5, "6.16.3\n") == kRows[4].hint);
  CHECK(hint(5, "7.1-rc3\n") == new_enough);
  CHECK(hint(6, "6.2.0\n") == kRows[5].hint);
  CHECK(hint(6, "6.8.0\n") == "a kernel with CONFIG_HWMON");
  CHECK(hint(7, "7.1.0\n") == kRows[6].hint);
}

TEST_SUITE_END();
