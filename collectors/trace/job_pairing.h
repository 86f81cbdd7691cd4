// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <unordered_map>
#include <vector>

#include "igpu/job.h"

// Events of the kernel in, jobs out. Pure. The BPF program of collector jobs follows the same rules:
//
//   start     max(handed over, last end on that engine); a job that was never reported as handed over counts from its
//             submission
//   exact     an end is exact only if it was signalled from an interrupt; otherwise the job ended then or earlier
//   i915      a bound end does not move the engine's last end: it may be hundreds of milliseconds late
//   xe        a job of a long-running VM ends in the thread that handed it over, on a queue that never ended a job from
//             an interrupt; it has no run time
//   bounds    16,384 jobs in flight; the oldest one is evicted and counted
namespace igpu {

enum class JobEventKind : std::uint8_t {
  submitted,
  dependency,   // the job waits for `other`
  handed_over,  // to the hardware or its firmware
  preempted,    // taken off the engine before it was complete
  ended,
  retired,  // i915: complete, no later than this
  error,    // of the oldest job on the queue `queue_number` that was handed over, or of the job `key`
};

struct JobEvent {
  JobEventKind kind = JobEventKind::submitted;
  JobSource source = JobSource::drm_sched;
  std::uint64_t time_ns = 0;
  JobKey key;
  bool in_interrupt = false;
  std::uint32_t pid = 0, tid = 0;

  // submitted
  std::uint64_t context = 0;
  std::uint64_t engine = 0;  // equal for jobs that run one at a time; 0: the context is all that is known
  std::uint64_t client = 0;
  JobClass engine_class = JobClass::other;
  int instance = -1;
  ShortText<16> comm;
  ShortText<24> device;
  ShortText<24> ring;
  std::uint64_t number = 0;  // of the job on its ring; 0: none

  // dependency: the waiting job is `key`, or, if that is zero, job `number` of ring `ring` or of the ring whose name
  // lies at `ring_address`
  JobKey other;
  std::uint64_t ring_address = 0;

  // error
  std::uint32_t queue_number = 0;
  int error = 0;
};

struct JobPairingCounts {
  std::uint64_t submitted = 0, ended = 0;  // jobs
  std::uint64_t evicted = 0;               // jobs that left the table for a newer one
  std::uint64_t replaced = 0;              // jobs whose end was lost: their key was submitted again
  std::uint64_t unmatched = 0;             // events of no job in the table
};

struct JobKeyHash {
  std::size_t operator()(const JobKey& key) const;
};

class JobPairing {
 public:
  static constexpr std::size_t kInFlight = 16'384;
  using Sink = std::function<void(const Job&)>;

  explicit JobPairing(Sink sink, std::size_t in_flight = kInFlight);

  void add(const JobEvent& event);
  // Forgets the early dependencies of a job that the recorder leaves out, so that it is never submitted here.
  void forget(const JobKey& key) { early_.erase(key); }
  // Reports the jobs in flight as unfinished, and forgets them.
  void finish();

  const JobPairingCounts& counts() const { return counts_; }
  std::size_t in_flight() const { return flights_.size(); }

 private:
  struct EngineState {
    std::uint64_t last_end = 0;
    std::uint64_t context = 0;
    JobKey key;
  };
  struct Flight {
    Job job;
    std::uint64_t engine = 0;
    std::uint64_t number = 0;
    std::uint64_t ring_hash = 0;
    std::uint32_t handed_over_tid = 0;
    std::uint32_t queue_number = 0;
    bool failed = false;
    EngineState before;  // what the engine ran until this job started
    std::vector<JobKey> dependencies;
  };
  using Flights = std::list<Flight>;  // oldest first

  void submit(const JobEvent& event);
  void depend(const JobEvent& event);
  void hand_over(const JobEvent& event);
  void end(const JobEvent& event);
  void fail(const JobEvent& event);
  Flight* find(const JobKey& key);
  Flight* waiting_job(const JobEvent& event);
  void add_dependency(Flight& flight, const JobKey& on);
  void complete(Flights::iterator flight, const JobEvent& event);
  void start(Flight& flight);
  static void hold(Flight& flight);
  void end_dependencies(const Job& job);
  void remove(Flights::iterator flight);
  void give_up(Flights::iterator flight, JobOutcome outcome);

  Sink sink_;
  std::size_t limit_;
  Flights flights_;
  std::unordered_map<JobKey, Flights::iterator, JobKeyHash> by_key_;
  std::unordered_map<JobKey, Flights::iterator, JobKeyHash> by_number_;  // {hash of the ring, number}
  std::unordered_multimap<JobKey, JobKey, JobKeyHash> waiting_;          // dependency -> job
  std::unordered_map<JobKey, std::vector<JobKey>, JobKeyHash> early_;    // job -> dependencies reported before it
  std::unordered_map<std::uint64_t, std::uint64_t> ring_at_;             // address of a name -> hash of the ring
  std::unordered_map<std::uint64_t, EngineState> engines_;
  std::unordered_map<std::uint64_t, bool> interrupted_;  // contexts; whether a job of it ended from an interrupt
  JobPairingCounts counts_;
};

std::uint64_t hash_of(std::string_view text, std::uint64_t seed = 0);

}  // namespace igpu
