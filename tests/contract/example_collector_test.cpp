// SPDX-License-Identifier: Apache-2.0
// The recipe of collectors/README.md as a whole collector: built and run. It exports the GPU's
// engine timeslice from /sys/class/drm/card<N>/engine/<name>/timeslice_duration_ms, of the render engine.
#include <doctest/doctest.h>

#include "kernel/sysfs/attribute.h"
#include "metric/sample_sink.h"
#include "run/registry.h"
#include "support/gpu_tree.h"
#include "support/test_machine.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

// 1. What it writes. A name without its unit's suffix, or a counter without _total, does not compile.
constexpr Metric<Seconds, 2> kTimeslice{"intel_gpu_engine_timeslice_seconds",
                                        Kind::gauge,
                                        "How long a context may run before another gets its turn.",
                                        {"device", "engine"}};
constexpr FeatureDescriptor kFeature{"timeslice", "Length of a timeslice."};
constexpr const MetricDescriptor* kMetrics[] = {&kTimeslice};
constexpr const FeatureDescriptor* kFeatures[] = {&kFeature};

// 2. The collector: bound to one GPU when it is made, reads what it was bound to.
class TimesliceCollector final : public Collector {
 public:
  static constexpr CollectorInfo kInfo{
      .name = "timeslice", .help = "Engine timeslices.", .metrics = kMetrics, .features = kFeatures};
  explicit TimesliceCollector(const CollectorContext& context)
      : gpu_(context.gpu),
        file_(context.machine.sys,
              context.gpu.pci_path + "/drm/" + context.gpu.card + "/engine/rcs0/timeslice_duration_ms") {}

  void collect(ScrapePass&, SampleSink& out) override {
    FeatureReport report(out, kFeature);  // distinguishes available, absent and failed
    const auto milliseconds = file_.number();
    if (report.note(milliseconds))
      out.add(kTimeslice, {gpu_.address, "rcs0"}, Seconds{static_cast<double>(*milliseconds) * 1e-3});
  }

 private:
  const Gpu& gpu_;
  Attribute file_;
};

// 3. Its line in registration.cpp.
constexpr CollectorEntry kEntries[] = {entry<TimesliceCollector>()};

}  // namespace

TEST_SUITE_BEGIN("example collector");

TEST_CASE("a collector is a file pair and a line: flags, success, features and re-binding come with it") {
  TestMachine machine;
  add_gpu(machine.tree,
          {.pci_path = "pci0000:00/0000:00:02.0", .driver = "i915", .card = "card0", .render_node = "renderD128"});
  const std::string file = "sys/devices/pci0000:00/0000:00:02.0/drm/card0/engine/rcs0/timeslice_duration_ms";
  machine.tree.write(file, "5\n");
  Registry registry(nullptr, machine.machine(), {{}, 1s, 10s}, configure(kEntries, {}), machine.log);

  auto page = registry.run({});
  CHECK(value_of(*page, "intel_gpu_engine_timeslice_seconds", {{"device", "0000:00:02.0"}, {"engine", "rcs0"}}) ==
        0.005);
  CHECK(value_of(*page, "intel_gpu_scrape_collector_success", {{"collector", "timeslice"}}) == 1);

  machine.tree.write(file, "garbage\n");
  page = registry.run({});
  CHECK_FALSE(value_of(*page, "intel_gpu_engine_timeslice_seconds", {{"device", "0000:00:02.0"}, {"engine", "rcs0"}}));
  CHECK(value_of(*page, "intel_gpu_scrape_collector_success", {{"collector", "timeslice"}}) == 0);

  machine.tree.write(file, "10\n");
  page = registry.run({});
  CHECK(value_of(*page, "intel_gpu_engine_timeslice_seconds", {{"device", "0000:00:02.0"}, {"engine", "rcs0"}}) ==
        0.01);
}

TEST_SUITE_END();
