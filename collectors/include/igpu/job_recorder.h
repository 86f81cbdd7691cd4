// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/job.h"
#include "igpu/reading.h"

// Records jobs of GPUs as the kernel's tracepoints report them. While a recorder is open, the modules that own the
// events cannot be unloaded.
namespace igpu {

class Tracepoints;
class Directory;

struct FenceWait {
  std::uint32_t pid = 0, tid = 0;
  std::uint64_t begin_ns = 0, end_ns = 0;
  JobKey fence;  // both numbers cut to 32 bits
};

// Of a thread that submits jobs.
struct IoctlCall {
  std::uint32_t pid = 0, tid = 0;
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::uint32_t command = 0;
};

struct CpuSwitch {
  std::uint64_t time_ns = 0;
  std::uint32_t cpu = 0;
  std::int32_t previous_tid = 0, previous_priority = 0;
  std::int64_t previous_state = 0;
  std::int32_t next_tid = 0, next_priority = 0;
  ShortText<16> previous_comm, next_comm;
};

// A process that submits jobs.
struct JobProcess {
  std::uint64_t time_ns = 0;  // of its first job here
  std::uint32_t pid = 0;
  std::string workload;  // as the metrics name it by default: pod, container, systemd unit, or the process' name
};

class JobSink {
 public:
  virtual ~JobSink() = default;
  virtual void add(const Job& job) = 0;
  virtual void add(const FenceWait& wait) = 0;
  virtual void add(const IoctlCall& call) = 0;
  virtual void add(const CpuSwitch& cpu_switch) = 0;
  // Called before the jobs of the process. A process that ended before it was read is not reported.
  virtual void add(const JobProcess& process) = 0;
};

struct JobRecorderOptions {
  std::string tracefs;                            // "": where it is mounted
  std::vector<std::string> events;                // names of job_event_names(); empty: what the machine offers
  bool waits = true;                              // threads that wait for fences
  bool cpu = false;                               // context switches, and ioctls of submitting threads
  std::size_t ring_bytes = std::size_t{4} << 20;  // per CPU
  bool several_cards = false;                     // xe's older events do not name the card
  // Only jobs with one of these; empty: all.
  std::vector<std::string> devices, rings;
  std::vector<JobClass> classes;
  std::vector<std::uint32_t> pids;
  std::uint64_t sample = 1;    // one job in this many
  std::uint64_t max_rate = 0;  // jobs per second; 0: all
};

// Every job that was submitted is in exactly one of recorded, in flight, filtered, not_sampled, rate_limited.
struct JobRecorderCounts {
  std::uint64_t events = 0;     // read from the rings
  std::uint64_t lost = 0;       // events that found a ring full
  std::uint64_t damaged = 0;    // rings whose rest could not be read
  std::uint64_t unknown = 0;    // events that no layout knows
  std::uint64_t unmatched = 0;  // events of jobs that began before the recording, or whose submission was lost
  std::uint64_t submitted = 0;  // jobs
  std::uint64_t recorded = 0, filtered = 0, not_sampled = 0, rate_limited = 0;
  std::uint64_t evicted = 0;  // of the recorded ones: 16,384 newer ones were in flight, or the end was lost
};

struct JobRecorderError {
  enum class Kind { no_events, tracefs_denied, perf_denied, failed } kind = Kind::no_events;
  int os_error = 0;
  std::string where;
};

class JobRecorder {
 public:
  virtual ~JobRecorder() = default;
  // Waits for events, at most that long, and passes the jobs that ended to the sink.
  virtual void poll(std::chrono::milliseconds wait) = 0;
  // The last events, then the jobs that are still in flight.
  virtual void finish() = 0;
  virtual const JobRecorderCounts& counts() = 0;
  virtual std::size_t ring_bytes() const = 0;
  virtual std::vector<std::string> tracepoints() const = 0;  // "gpu_scheduler:drm_sched_job"
};

// Null: see error. sink must outlive the recorder.
std::unique_ptr<JobRecorder> open_job_recorder(const JobRecorderOptions& options, JobSink& sink,
                                               JobRecorderError& error);
// Over any tracepoints and any /proc; for tests.
std::unique_ptr<JobRecorder> open_job_recorder(const JobRecorderOptions& options, Tracepoints& tracepoints,
                                               const Directory* proc, JobSink& sink, JobRecorderError& error);

std::vector<std::string_view> job_event_names();

}  // namespace igpu
