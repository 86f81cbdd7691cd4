// SPDX-License-Identifier: Apache-2.0
#include "view/report/fixes.h"

#include <doctest/doctest.h>

using namespace igpu;
using namespace igpu::exporter;

namespace {

constexpr FeatureDescriptor kBusy{"engine_busy", "Busy time."};
constexpr FeatureDescriptor kPower{"power", "Power."};
constexpr FeatureDescriptor kFan{"fan", "Fan speed."};

Finding missing(const FeatureDescriptor& feature, const char* device, Reason reason, const char* cause,
                const char* hint) {
  return {&feature, "collector", device, false, {reason}, cause, hint};
}

}  // namespace

TEST_SUITE_BEGIN("fixes");

TEST_CASE("findings with the same fix are grouped across GPUs, with each cause once") {
  const Finding findings[] = {missing(kBusy, "a", Reason::permission, "refused", "CAP_PERFMON"),
                              missing(kPower, "a", Reason::permission, "not even asked", "CAP_PERFMON"),
                              missing(kFan, "a", Reason::kernel, "too old", "Linux 6.16"),
                              missing(kBusy, "b", Reason::permission, "refused", "CAP_PERFMON")};
  const std::vector<Fix> fixes = fixes_for(findings);
  REQUIRE(fixes.size() == 2);
  CHECK(fixes[0].hint == "CAP_PERFMON");
  CHECK(fixes[0].causes == std::vector<std::string>{"refused", "not even asked"});
  CHECK(fixes[0].findings.size() == 3);
  CHECK(fixes[1].hint == "Linux 6.16");
}

TEST_CASE("without a hint findings are grouped by cause") {
  const Finding findings[] = {missing(kBusy, "a", Reason::permission, "refused", ""),
                              missing(kPower, "a", Reason::permission, "locked down", ""),
                              missing(kFan, "a", Reason::permission, "refused", "")};
  const std::vector<Fix> fixes = fixes_for(findings);
  REQUIRE(fixes.size() == 2);
  CHECK(fixes[0].findings.size() == 2);
}

TEST_CASE("features that are absent by design need no fix") {
  Finding there = missing(kBusy, "a", Reason::permission, "", "");
  there.available = true;
  const Finding findings[] = {there, missing(kFan, "a", Reason::hardware, "", ""),
                              missing(kFan, "a", Reason::suspended, "", ""),
                              missing(kFan, "a", Reason::kernel, "no version of the driver has it", ""),
                              missing(kFan, "a", Reason::disabled, "", "--collector.hwmon")};
  CHECK(fixes_for(findings).empty());
}

TEST_CASE("what the packages withhold is optional, and doctor begins with what is most useful") {
  constexpr FeatureDescriptor kErrors{"error_state", "Hangs.", Need::root_only_file, false, {}, true};
  Finding hangs = missing(kErrors, "a", Reason::permission, "root's file", "CAP_DAC_READ_SEARCH");
  hangs.collector = "identity";
  CHECK_FALSE(is_missing(hangs));
  const Finding found[] = {hangs, missing(kBusy, "a", Reason::permission, "refused", "CAP_PERFMON"),
                           missing(kFan, "a", Reason::hardware, "", "")};
  const std::vector<Finding> findings = most_useful_first(found);
  CHECK(findings[0].feature == &kBusy);
  CHECK(findings[1].feature == &kFan);
  CHECK(findings[2].feature == &kErrors);
}

TEST_SUITE_END();
