// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

// One job of a GPU, from submission to completion. All times are CLOCK_MONOTONIC nanoseconds.
namespace igpu {

// A text of limited length without an allocation; longer ones are cut off.
template <std::size_t kCapacity>
class ShortText {
 public:
  constexpr ShortText() = default;
  template <class Text>
  requires std::is_convertible_v<const Text&, std::string_view>
  constexpr ShortText(const Text& characters) {  // NOLINT(google-explicit-constructor)
    const std::string_view text = characters;
    size_ = static_cast<std::uint8_t>(std::min(text.size(), kCapacity));
    std::copy_n(text.begin(), size_, characters_.begin());
  }
  constexpr std::string_view view() const { return {characters_.data(), size_}; }
  constexpr bool empty() const { return size_ == 0; }
  bool operator==(const ShortText& other) const { return view() == other.view(); }

 private:
  static_assert(kCapacity < 256);
  std::array<char, kCapacity> characters_{};
  std::uint8_t size_ = 0;
};

// Whose tracepoints reported the job.
enum class JobSource : std::uint8_t { drm_sched, i915, amdgpu, virtio_gpu };

enum class JobOutcome : std::uint8_t {
  completed,     // its end is exact
  bound,         // it ended at end_ns or earlier
  long_running,  // of a VM whose jobs the kernel does not follow (xe); no end
  error,         // reset, timed out or banned
  evicted,       // too many jobs were in flight, or its end was lost; no end
  unfinished,    // still in flight when the recording ended; no end
};

// What a job waited for longest before it started.
enum class JobHold : std::uint8_t {
  nothing,        // it started within 16 us
  dependency,     // another job's fence
  same_context,   // the engine ran an earlier job of its own context
  other_context,  // the engine ran a job of another context
  scheduler,      // it was ready and not handed over: the queue was full, or the scheduler's thread had no CPU
};

enum class JobClass : std::uint8_t { render, copy, video, video_enhance, compute, other };

struct JobKey {
  std::uint64_t context = 0;  // of the fence; 0 where the kernel reports only the fence's address
  std::uint64_t seqno = 0;    // or that address
  auto operator<=>(const JobKey&) const = default;
};

struct Job {
  JobSource source = JobSource::drm_sched;
  JobOutcome outcome = JobOutcome::unfinished;
  JobHold hold = JobHold::nothing;
  JobClass engine_class = JobClass::other;
  int instance = -1;  // of the engine; -1: the kernel reports only a queue (xe)
  bool preempted = false;
  int error = 0;  // negative errno; 0: none, or not reported
  JobKey key;
  std::uint64_t context = 0;  // equal for all jobs of one GPU context or queue
  JobKey held_by;             // the job behind hold; zero: unknown
  std::uint64_t client = 0;   // DRM client; 0: unknown
  std::uint32_t pid = 0, tid = 0;
  ShortText<16> comm;
  ShortText<24> device;  // as the event names it: a PCI address, a minor number; empty: it does not
  ShortText<24> ring;    // "rcs7", "vcs0", "gfx_0.0.0"
  std::uint64_t submit_ns = 0;
  std::uint64_t dependency_ns = 0;   // how long it waited for other jobs
  std::uint64_t handed_over_ns = 0;  // to the hardware or its firmware; 0: not reported
  std::uint64_t start_ns = 0;        // 0: it did not start, as far as reported
  std::uint64_t end_ns = 0;          // 0: see outcome

  bool ended() const { return end_ns != 0; }
  std::uint64_t queue_ns() const { return start_ns > submit_ns ? start_ns - submit_ns : 0; }
  std::uint64_t run_ns() const { return end_ns > start_ns ? end_ns - start_ns : 0; }
  std::uint64_t total_ns() const { return end_ns > submit_ns ? end_ns - submit_ns : 0; }
};

std::string_view to_string(JobSource source);
std::string_view to_string(JobOutcome outcome);
std::string_view to_string(JobHold hold);
std::string_view to_string(JobClass engine_class);  // as the label class

// Buckets of the histograms of queue and run time: bucket i counts times up to 2^(4 + i) us, the last one all others.
inline constexpr std::size_t kJobBuckets = 22;
constexpr std::size_t job_bucket(std::uint64_t nanoseconds) {
  std::size_t bucket = 0;
  while (bucket + 1 < kJobBuckets && nanoseconds > (std::uint64_t{16'000} << bucket)) ++bucket;
  return bucket;
}

}  // namespace igpu
