// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <memory>
#include <vector>

#include "collector/collector.h"
#include "kernel/pmu/pmu_files.h"

namespace igpu {
namespace {

constexpr CounterMetric<Bytes, 2> kBandwidth{
    "intel_gpu_memory_bandwidth_bytes_total",
    "Bytes transferred by the memory controllers of an integrated GPU's processor, for the GPU and everything else.",
    {"device", "direction"}};
constexpr FeatureDescriptor kImcFeature{"memory_bandwidth", "Memory traffic of the processor (integrated GPUs).",
                                        Need::imc_pmu};

constexpr const char *kImcRead = "read", *kWrite = "write";

constexpr double kMebibytesPerCount =
    64 / (1024.0 * 1024.0);                    // a cache line, in all of these PMUs; .scale says the same
constexpr double kMebibyte = 1024.0 * 1024.0;  // what the events' .scale turns a count into

// Adds the counts of the events; stops at the first one that does not count.
Reading<double> sum_of(const PmuSession& pmu, const std::vector<PmuSession::Handle>& handles) {
  double sum = 0;
  for (const PmuSession::Handle handle : handles) {
    const auto mebibytes = pmu.scaled(handle, kMebibytesPerCount);
    if (!mebibytes) return mebibytes;
    sum += *mebibytes * kMebibyte;
  }
  return sum;
}

// Traffic of the memory controllers that an integrated GPU shares with the CPU: every read and write of main memory,
// not only the GPU's. Does not include a card's own memory.
class ImcCollector final : public Collector {
 public:
  static constexpr CollectorInfo kInfo{
      .name = "imc",
      .help = "Memory bandwidth of an integrated GPU's processor.",
      .metrics = kListOf<MetricDescriptor, kBandwidth>,
      .features = kListOf<FeatureDescriptor, kImcFeature>,
  };

  explicit ImcCollector(const CollectorContext& context)
      : machine_(context.machine), gpu_(context.gpu), memory_(context.memory) {
    if (stands_for_package(gpu_)) find_boxes();
  }

  void collect(ScrapePass& pass, SampleSink& out) override {
    if (!stands_for_package(gpu_)) {
      out.absent(kImcFeature, {Reason::hardware});
      return;
    }
    if (boxes_.empty()) find_boxes();  // the PMUs' module may be loaded later than the GPU's

    double reads = 0, writes = 0;
    std::size_t counting = 0;
    Absent why{Reason::kernel, ENOENT};
    for (Box& box : boxes_) {
      const auto outcome = box.pmu->refresh(pass.number());
      const auto read = outcome ? sum_of(*box.pmu, box.reads) : outcome.propagate<double>();
      const auto written = read ? sum_of(*box.pmu, box.writes) : read.propagate<double>();
      if (written) {
        box.has_counted = true;
        reads += *read;
        writes += *written;
        ++counting;
        continue;
      }
      // Without one of several boxes the sum is not the machine's traffic, and it would step back.
      if (written.is_failure() || box.has_counted) {
        out.failed(written.is_failure()
                       ? written.failure()
                       : Failure{std::make_error_code(std::errc::no_such_device), "perf group of a memory controller"});
        return;
      }
      why = written.absent();
      if (why.reason == Reason::permission) break;
    }
    if (counting == 0 || why.reason == Reason::permission) {
      out.absent(kImcFeature, why);
      return;
    }
    // Every machine uses its memory: a counter that stays at 0 does not work.
    if (reads <= 0 && writes <= 0) {
      out.absent(kImcFeature, {Reason::hardware});
      return;
    }
    out.available(kImcFeature);
    if (reads > 0) out.add(kBandwidth, {gpu_.address, kImcRead}, Bytes{reads});
    if (writes > 0) out.add(kBandwidth, {gpu_.address, kWrite}, Bytes{writes});
  }

 private:
  // A memory controller, or a channel of it, with its own PMU.
  struct Box {
    std::unique_ptr<PmuSession> pmu;
    std::vector<PmuSession::Handle> reads, writes;
    bool has_counted = false;
  };

  void find_boxes() {
    for (const ImcPmu& found : imc_pmus(machine_.sys)) {
      Box& box = boxes_.emplace_back();
      box.pmu = std::make_unique<PmuSession>(machine_, memory_, found.name, found.name + "/");
      for (const std::string& event : found.reads) box.reads.push_back(box.pmu->want(event));
      for (const std::string& event : found.writes) box.writes.push_back(box.pmu->want(event));
    }
  }

  Machine& machine_;
  const Gpu& gpu_;
  CounterMemory& memory_;
  std::vector<Box> boxes_;
};

}  // namespace

CollectorEntry imc_collector() { return entry<ImcCollector>(); }

}  // namespace igpu
