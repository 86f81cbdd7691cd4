// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "machine/tracepoints.h"
#include "trace/job_pairing.h"

// Which tracepoints report jobs, and what their fields mean. A layout is chosen by the fields that an event has, never
// by the kernel's version: distributions backport.
//
//   drm_sched (xe, amdgpu, nouveau, ...)  include/drm and drivers/gpu/drm/scheduler/gpu_scheduler_trace.h
//     with fence_context  drm_sched_job_queue, _run, _done, _add_dep, _unschedulable
//     with fence          drm_sched_job, drm_run_job, drm_sched_process_job, drm_sched_job_wait_dep
//     xe, errors          xe_exec_queue_reset, _memory_cat_error, xe_sched_job_timedout, _set_error (xe_trace.h)
//   i915                  i915_request_queue, _retire, dma_fence_signaled; _in, _out where they are compiled in
//                         (i915_trace.h, include/trace/events/dma_fence.h)
//   amdgpu                amdgpu_cs_ioctl, amdgpu_sched_run_job (amdgpu_trace.h), where there is no drm_sched
//   virtio_gpu            virtio_gpu_cmd_queue, _response (virtgpu_trace.h)
namespace igpu {

enum class JobLayout : std::uint8_t { drm_sched, drm_sched_old, xe, i915, i915_low_level, amdgpu, virtio_gpu, waits };
std::string_view to_string(JobLayout layout);
std::optional<JobLayout> job_layout_named(std::string_view name);
inline constexpr std::size_t kJobLayouts = 8;

// A thread that waits for a fence.
struct FenceWaitEvent {
  bool begins = false;
  std::uint64_t time_ns = 0;
  std::uint32_t pid = 0, tid = 0;
  JobKey fence;
};

struct JobTracepoint {
  std::string_view system, event;
  JobLayout layout = JobLayout::drm_sched;
  std::uint32_t id = 0;
};

struct JobEventOptions {
  std::vector<JobLayout> only;  // empty: what the machine offers
  bool waits = false;           // also dma_fence_wait_start and _end, i915_request_wait_begin and _end
  // An event of xe that names no device may be of any of several cards. Then jobs of one class do not run one at a
  // time.
  bool several_cards = false;
};

// How to decode an event; internal.
struct JobEventFields;

class JobEventReader {
 public:
  using Formats = std::function<Reading<TraceFormat>(std::string_view system, std::string_view event)>;

  // Absent if no tracepoint reports jobs; `permission` if access to at least one was denied.
  static Reading<JobEventReader> choose(const Formats& formats, const JobEventOptions& options = {});

  JobEventReader(JobEventReader&&) noexcept;
  JobEventReader& operator=(JobEventReader&&) noexcept;
  ~JobEventReader();

  // In the order in which to open them: ends before beginnings, so that no end is lost.
  const std::vector<JobTracepoint>& tracepoints() const { return tracepoints_; }

  bool reads(const TraceRecord& record) const;
  // nullopt: not an event of a job (its tracepoint may be unknown, see reads()), or an event that names no fence.
  std::optional<JobEvent> job_event(const TraceRecord& record) const;
  std::optional<FenceWaitEvent> wait_event(const TraceRecord& record) const;

 private:
  JobEventReader();
  bool add(const Formats& formats, const JobEventFields& kind, Absent& why);

  std::vector<JobTracepoint> tracepoints_;
  const JobEventFields* fields_of(const TraceRecord& record) const;
  std::vector<JobEventFields> fields_;
  std::unordered_map<std::uint16_t, std::size_t> by_id_;  // index into fields_
  bool several_cards_ = false;
};

}  // namespace igpu
