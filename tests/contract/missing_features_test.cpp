// SPDX-License-Identifier: Apache-2.0
// doctor, the page at / and the dashboards list the same features as missing: the dashboards query
// intel_gpu_exporter_feature_missing, the others use is_missing().
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "igpu/feature.h"
#include "igpu/monitor.h"
#include "server/doctor/doctor_report.h"
#include "support/exposition_parser.h"
#include "support/recording_log.h"
#include "support/simulated_parts.h"
#include "view/format/text_writer.h"
#include "view/report/fixes.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

using Features = std::set<std::pair<std::string, std::string>>;  // device, feature

struct Seen {
  explicit Seen(std::string_view profile) {
    const auto parts = std::make_shared<SimulatedParts>(profile);
    RecordingLog log;
    MonitorOptions options;
    options.collectors["workloads"] = true;
    const auto monitor = make_monitor(parts, options, log);
    parts->clock.advance(2s);
    scrape = monitor->scrape({});
    exporter::write_prometheus_text(PageView(scrape->lists()), text);
    for (const ExpositionFamily& family : parse_prometheus_text(text).families) {
      for (const ExpositionSample& sample : family.samples) {
        const std::pair<std::string, std::string> feature{sample.label("device"), sample.label("feature")};
        if (sample.name == "intel_gpu_exporter_feature_missing") {
          CHECK(sample.value == 1);
          missing.insert(feature);
        }
        if (sample.name == "intel_gpu_exporter_feature_available" && sample.label("reason") == "permission")
          denied.insert(feature);
      }
    }
    for (const Finding& finding : scrape->findings())
      if (finding.feature->optional) optional.insert({finding.device, std::string(finding.feature->name)});
  }

  std::shared_ptr<const ScrapeResult> scrape;
  std::string text;
  Features missing, denied, optional;
};

}  // namespace

TEST_SUITE_BEGIN("missing features");

TEST_CASE("what dashboards count as missing is what doctor and the page at / say is missing") {
  for (const SimulationProfile& profile : simulation_profiles()) {
    INFO(profile.name);
    const Seen seen(profile.name);
    Features doctor;
    for (const exporter::Fix& fix : exporter::fixes_for(seen.scrape->findings()))
      for (const Finding* finding : fix.findings) doctor.insert({finding->device, std::string(finding->feature->name)});
    CHECK(seen.missing == doctor);
    exporter::Diagnosis diagnosis;
    diagnosis.findings = seen.scrape->findings();
    CHECK((diagnosis.missing() == 0) == seen.missing.empty());
  }
}

TEST_CASE("a host that withholds only what is optional is healthy; every other denied feature is missing") {
  const Seen locked("locked");
  Features expected = locked.denied;
  for (const auto& feature : locked.optional) expected.erase(feature);
  CHECK(expected.size() > 3);
  CHECK(locked.missing == expected);
  const auto is_error_state = [](const auto& feature) { return feature.second == "error_state"; };
  CHECK(std::any_of(locked.denied.begin(), locked.denied.end(), is_error_state));
  CHECK(std::none_of(locked.missing.begin(), locked.missing.end(), is_error_state));
}

TEST_SUITE_END();
