// SPDX-License-Identifier: Apache-2.0
// A capture of every simulated machine, served again, gives the same page.
#include <doctest/doctest.h>

#include "igpu/monitor.h"
#include "monitor/capture_parts.h"
#include "monitor/machine_parts.h"
#include "simulation/simulation.h"
#include "support/fake_clock.h"
#include "support/recording_log.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

class SimulatedParts final : public MachineParts {
 public:
  explicit SimulatedParts(std::string_view profile)
      : simulated_(SimulatedMachine::create(profile, clock)), machine_(simulated_->machine()) {}
  Machine& machine() override { return machine_; }

  FakeClock clock;

 private:
  std::unique_ptr<SimulatedMachine> simulated_;
  Machine machine_;
};

CaptureOutcome capture_profile(std::string_view profile) {
  const auto parts = std::make_shared<SimulatedParts>(profile);
  RecordingLog log;
  return capture_of(
      parts, {}, {.passes = 4}, [&] { parts->clock.advance(1s); }, log);
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

}  // namespace

TEST_SUITE_BEGIN("captures");

TEST_CASE("a capture of every simulated machine, served again, gives the same pages") {
  for (const SimulationProfile& profile : simulation_profiles()) {
    CAPTURE(std::string(profile.name));
    const CaptureOutcome outcome = capture_profile(profile.name);
    CHECK(joined(outcome.differences) == "");
    std::size_t size = 0;
    for (const auto& [path, text] : outcome.files) size += text.size();
    MESSAGE(profile.name << ": " << outcome.samples << " samples, " << outcome.files.size() << " files, " << size
                         << " bytes");
  }
}

TEST_SUITE_END();
