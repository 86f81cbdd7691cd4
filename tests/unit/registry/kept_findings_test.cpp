// SPDX-License-Identifier: Apache-2.0
#include "registry/kept_findings.h"

#include <doctest/doctest.h>

#include <cerrno>

#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

constexpr FeatureDescriptor kBusy{"engine_busy", "x.", Need::perf_events};
constexpr KernelAbsence kNoFan[] = {{{}, {}, "no fan", "Linux 6.12 or newer"}};
constexpr FeatureDescriptor kFan{"fan", "x.", Need::nothing_special, false, kNoFan};

struct Kept {
  TestMachine m;
  KeptFindings findings;
  Gpu gpu;

  Kept() { gpu.kind = GpuKind::discrete; }
  KeptFindings::List explain(std::vector<NotedFeature> noted) {
    return findings.explain(std::move(noted), m.machine(),
                            [&](std::string_view device) { return device.empty() ? nullptr : &gpu; });
  }
  static NotedFeature missing(const FeatureDescriptor& feature, Absent why, const char* device = "0000:03:00.0") {
    return {&feature, "c", device, false, why};
  }
  static NotedFeature available(const FeatureDescriptor& feature) { return {&feature, "c", "0000:03:00.0", true, {}}; }
};

bool says(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

}  // namespace

TEST_SUITE_BEGIN("kept findings");

TEST_CASE("the list is the same object while nothing changes; any change makes a new one") {
  Kept k;
  const std::vector<NotedFeature> some{Kept::available(kBusy), Kept::missing(kFan, {Reason::kernel})};
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
  const std::vector<NotedFeature> refused{Kept::missing(kBusy, {Reason::permission, EACCES})};
  CHECK(says((*k.explain(refused))[0].cause, "is 3"));
  k.m.tree.write("proc/sys/kernel/perf_event_paranoid", "2\n");
  k.m.clock.advance(59s);
  (void)k.explain(refused);
  k.m.clock.advance(1s);
  CHECK(says((*k.explain(refused))[0].cause, "is 2"));
}

TEST_SUITE_END();
