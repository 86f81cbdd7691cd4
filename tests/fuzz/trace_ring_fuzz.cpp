// SPDX-License-Identifier: Apache-2.0
// A perf ring with any content, read from any place: every record lies within it, and its events decode.
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "fuzz/fuzz_target.h"
#include "machine/tracepoints.h"
#include "support/trace_records.h"
#include "trace/job_events.h"
#include "trace/job_pairing.h"

namespace {

const igpu::JobEventReader& reader() {
  static igpu::test::FakeTracepoints machine({"gpu_scheduler/*", "i915/*", "dma_fence/*", "virtio_gpu/*", "xe/*"});
  static const auto chosen = igpu::JobEventReader::choose(
      [](std::string_view system, std::string_view event) { return machine.format(system, event); }, {{}, true, false});
  FUZZ_CHECK(chosen);
  return *chosen;
}

}  // namespace

// The first bytes say where the ring is read; the rest is the ring.
FUZZ_TARGET(trace_ring) {
  if (size < 4) return 0;
  std::uint16_t tail = 0, length = 0;
  std::memcpy(&tail, data, 2);
  std::memcpy(&length, data + 2, 2);
  std::vector<std::byte> ring(std::bit_ceil(size));
  std::memcpy(ring.data(), data + 4, size - 4);
  igpu::TraceRingCounts counts;
  std::size_t jobs = 0, records = 0;
  igpu::JobPairing pairing([&](const igpu::Job& job) {
    ++jobs;
    FUZZ_CHECK(!job.ended() || job.submit_ns <= job.end_ns || job.start_ns <= job.end_ns);
  });
  const std::uint64_t end = igpu::read_trace_ring(
      ring, tail, std::uint64_t{tail} + length, 0,
      [&](const igpu::TraceRecord& record) {
        ++records;
        FUZZ_CHECK(record.data.size() <= ring.size());
        if (const auto event = reader().job_event(record)) {
          FUZZ_CHECK(reader().reads(record));
          pairing.add(*event);
        }
        FUZZ_CHECK(!reader().wait_event(record) || reader().reads(record));
      },
      counts);
  FUZZ_CHECK(end == std::uint64_t{tail} + length);
  FUZZ_CHECK(records == counts.records);
  pairing.finish();
  FUZZ_CHECK(jobs == pairing.counts().submitted);
  return 0;
}
