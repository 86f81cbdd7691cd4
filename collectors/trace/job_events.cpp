// SPDX-License-Identifier: Apache-2.0
#include "trace/job_events.h"

#include <algorithm>
#include <array>

#include "base/scan.h"
#include "kernel/device/engine_class.h"

namespace igpu {

// Null: the event has no such field.
struct JobEventFields {
  JobLayout layout = JobLayout::drm_sched;
  bool is_wait = false;
  bool wait_begins = false;
  JobEventKind kind = JobEventKind::submitted;
  std::string_view system, event;
  std::string_view key_context, key_seqno;  // names; key_context "" where one field is the key
  std::optional<TraceField> context, seqno, entity, ring, device, client, number, engine_class, instance,
      dependency_context, dependency_seqno, queue_number, error, completed, virtqueue;
};

namespace {

constexpr std::array<std::string_view, kJobLayouts> kLayoutNames = {
    "drm_sched", "drm_sched_old", "xe", "i915", "i915_low_level", "amdgpu", "virtio_gpu", "waits"};

constexpr std::uint64_t kVirtio = std::uint64_t{1} << 63;  // keys of virtqueues beside those of fences

JobEventFields rule(JobLayout layout, JobEventKind kind, std::string_view system, std::string_view event,
                    std::string_view context, std::string_view seqno) {
  return {.layout = layout, .kind = kind, .system = system, .event = event, .key_context = context, .key_seqno = seqno};
}

JobEventFields wait_rule(bool begins, std::string_view system, std::string_view event, std::string_view context) {
  JobEventFields fields = rule(JobLayout::waits, JobEventKind::submitted, system, event, context, "seqno");
  fields.is_wait = true;
  fields.wait_begins = begins;
  return fields;
}

// Ends before beginnings. The first event of a layout is the one that has to be there.
const std::vector<JobEventFields>& rules() {
  using enum JobEventKind;
  static const std::vector<JobEventFields> all = {
      rule(JobLayout::drm_sched, submitted, "gpu_scheduler", "drm_sched_job_queue", "fence_context", "fence_seqno"),
      rule(JobLayout::drm_sched, ended, "gpu_scheduler", "drm_sched_job_done", "fence_context", "fence_seqno"),
      rule(JobLayout::drm_sched, handed_over, "gpu_scheduler", "drm_sched_job_run", "fence_context", "fence_seqno"),
      rule(JobLayout::drm_sched, dependency, "gpu_scheduler", "drm_sched_job_add_dep", "fence_context", "fence_seqno"),
      rule(JobLayout::drm_sched, dependency, "gpu_scheduler", "drm_sched_job_unschedulable", "fence_context",
           "fence_seqno"),
      rule(JobLayout::drm_sched_old, submitted, "gpu_scheduler", "drm_sched_job", "", "fence"),
      rule(JobLayout::drm_sched_old, ended, "gpu_scheduler", "drm_sched_process_job", "", "fence"),
      rule(JobLayout::drm_sched_old, handed_over, "gpu_scheduler", "drm_run_job", "", "fence"),
      rule(JobLayout::drm_sched_old, dependency, "gpu_scheduler", "drm_sched_job_wait_dep", "", ""),
      rule(JobLayout::xe, error, "xe", "xe_exec_queue_reset", "", ""),
      rule(JobLayout::xe, error, "xe", "xe_exec_queue_memory_cat_error", "", ""),
      rule(JobLayout::xe, error, "xe", "xe_sched_job_timedout", "", ""),
      rule(JobLayout::xe, error, "xe", "xe_sched_job_set_error", "", ""),
      rule(JobLayout::i915, submitted, "i915", "i915_request_queue", "ctx", "seqno"),
      rule(JobLayout::i915, ended, "dma_fence", "dma_fence_signaled", "context", "seqno"),
      rule(JobLayout::i915, retired, "i915", "i915_request_retire", "ctx", "seqno"),
      rule(JobLayout::i915_low_level, handed_over, "i915", "i915_request_in", "ctx", "seqno"),
      rule(JobLayout::i915_low_level, ended, "i915", "i915_request_out", "ctx", "seqno"),
      rule(JobLayout::amdgpu, submitted, "amdgpu", "amdgpu_cs_ioctl", "context", "seqno"),
      rule(JobLayout::amdgpu, ended, "dma_fence", "dma_fence_signaled", "context", "seqno"),
      rule(JobLayout::amdgpu, handed_over, "amdgpu", "amdgpu_sched_run_job", "context", "seqno"),
      rule(JobLayout::virtio_gpu, submitted, "virtio_gpu", "virtio_gpu_cmd_queue", "vq", "seqno"),
      rule(JobLayout::virtio_gpu, ended, "virtio_gpu", "virtio_gpu_cmd_response", "vq", "seqno"),
      wait_rule(true, "dma_fence", "dma_fence_wait_start", "context"),
      wait_rule(false, "dma_fence", "dma_fence_wait_end", "context"),
      wait_rule(true, "i915", "i915_request_wait_begin", "ctx"),
      wait_rule(false, "i915", "i915_request_wait_end", "ctx"),
  };
  return all;
}

std::optional<TraceField> field(const TraceFormat& format, std::string_view name) {
  const TraceField* const found = name.empty() ? nullptr : format.find(name);
  return found == nullptr ? std::nullopt : std::optional<TraceField>(*found);
}

// nullopt: an event of this name, but with other fields.
std::optional<JobEventFields> bound(JobEventFields fields, const TraceFormat& format) {
  fields.context = field(format, fields.key_context);
  fields.seqno = field(format, fields.key_seqno);
  if (fields.layout == JobLayout::virtio_gpu && !fields.seqno) fields.seqno = field(format, "fence_id");
  if (!fields.key_seqno.empty() && !fields.seqno) return std::nullopt;
  if (!fields.key_context.empty() && !fields.context) return std::nullopt;
  fields.entity = field(format, "entity");
  fields.ring = field(format, fields.layout == JobLayout::amdgpu ? "ring" : "name");
  fields.device = field(format, "dev");
  fields.client = field(format, "client_id");
  fields.number = field(format, "id");
  fields.engine_class = field(format, "class");
  fields.instance = field(format, "instance");
  fields.queue_number = field(format, "guc_id");
  fields.error = field(format, "error");
  fields.completed = field(format, "completed");
  fields.virtqueue = field(format, "vq");
  if (fields.layout == JobLayout::drm_sched && fields.kind == JobEventKind::dependency) {
    fields.dependency_context = field(format, "ctx");
    fields.dependency_seqno = field(format, "seqno");
    if (!fields.dependency_context || !fields.dependency_seqno) return std::nullopt;
  }
  if (fields.layout == JobLayout::drm_sched_old && fields.kind == JobEventKind::dependency) {
    fields.dependency_seqno = field(format, "fence");
    if (!fields.dependency_seqno || !fields.number || !fields.ring) return std::nullopt;
  }
  if (fields.layout == JobLayout::xe && !fields.queue_number) return std::nullopt;
  return fields;
}

std::uint64_t number_in(const TraceRecord& record, const std::optional<TraceField>& field) {
  return field ? record.number(*field) : 0;
}

// dma_fence's events cut both numbers to 32 bits.
JobKey short_key(std::uint64_t context, std::uint64_t seqno) {
  return {static_cast<std::uint32_t>(context), static_cast<std::uint32_t>(seqno)};
}

JobClass class_of_i915(std::uint64_t number) {
  return number < 5 ? static_cast<JobClass>(number) : JobClass::other;  // drm_i915_gem_engine_class
}

JobClass class_of_xe(std::uint64_t number) {
  // enum xe_engine_class, xe_hw_engine_types.h
  constexpr std::array<JobClass, 6> kClasses = {JobClass::render, JobClass::video, JobClass::video_enhance,
                                                JobClass::copy,   JobClass::other, JobClass::compute};
  return number < kClasses.size() ? kClasses[number] : JobClass::other;
}

std::string i915_ring(JobClass engine_class, std::uint64_t instance) {
  const std::string_view name =
      engine_class == JobClass::other ? "other" : names_of(static_cast<EngineClass>(engine_class)).short_name;
  return std::string(name) + std::to_string(instance);
}

// "rcs7", "vecs0" -> class; other for all other rings.
JobClass class_of_ring(std::string_view ring) {
  const std::size_t digits = ring.find_last_not_of("0123456789") + 1;
  if (digits == ring.size()) return JobClass::other;
  const auto engine_class = engine_class_of_short_name(ring.substr(0, digits));
  return engine_class ? static_cast<JobClass>(*engine_class) : JobClass::other;
}

JobSource source_of(JobLayout layout) {
  switch (layout) {
    case JobLayout::i915:
    case JobLayout::i915_low_level: return JobSource::i915;
    case JobLayout::amdgpu: return JobSource::amdgpu;
    case JobLayout::virtio_gpu: return JobSource::virtio_gpu;
    default: return JobSource::drm_sched;
  }
}

}  // namespace

std::string_view to_string(JobLayout layout) { return kLayoutNames[static_cast<std::size_t>(layout)]; }

std::optional<JobLayout> job_layout_named(std::string_view name) {
  const auto found = std::ranges::find(kLayoutNames, name);
  if (found == kLayoutNames.end()) return std::nullopt;
  return static_cast<JobLayout>(found - kLayoutNames.begin());
}

JobEventReader::JobEventReader() = default;
JobEventReader::JobEventReader(JobEventReader&&) noexcept = default;
JobEventReader& JobEventReader::operator=(JobEventReader&&) noexcept = default;
JobEventReader::~JobEventReader() = default;

bool JobEventReader::add(const Formats& formats, const JobEventFields& kind, Absent& why) {
  auto format = formats(kind.system, kind.event);
  if (!format) {
    if (format.is_absent() && format.absent().reason == Reason::permission) why = format.absent();
    return false;
  }
  auto fields = bound(kind, *format);
  if (!fields) return false;
  const auto id = static_cast<std::uint16_t>(format->id);
  if (!by_id_.contains(id)) tracepoints_.push_back({kind.system, kind.event, kind.layout, format->id});
  by_id_[id] = fields_.size();
  fields_.push_back(std::move(*fields));
  return true;
}

Reading<JobEventReader> JobEventReader::choose(const Formats& formats, const JobEventOptions& options) {
  JobEventReader reader;
  reader.several_cards_ = options.several_cards;
  Absent why{Reason::kernel, 0};
  std::array<bool, kJobLayouts> chosen{};
  const auto wanted = [&](JobLayout layout) { return options.only.empty() || contains(options.only, layout); };
  bool reports_jobs = false;
  JobLayout layout = JobLayout::waits;
  bool offered = false;
  for (const JobEventFields& kind : rules()) {
    const bool first = kind.layout != layout || kind.is_wait;
    layout = kind.layout;
    if (first) {
      const bool scheduler = chosen[0] || chosen[1];
      offered = wanted(layout);
      // One set of events for one job. The drivers' own add what the scheduler's lack.
      if (layout == JobLayout::drm_sched_old && chosen[0]) offered = false;
      if (layout == JobLayout::amdgpu && scheduler && options.only.empty()) offered = false;
      if (layout == JobLayout::i915_low_level && !chosen[static_cast<std::size_t>(JobLayout::i915)]) offered = false;
      if (layout == JobLayout::waits && !options.waits) offered = false;
      if (layout == JobLayout::xe) offered = scheduler;
    }
    if (!offered) continue;
    const bool added = reader.add(formats, kind, why);
    const bool optional = layout == JobLayout::xe || layout == JobLayout::waits;
    if (first && !added && !optional) offered = false;
    if (added) chosen[static_cast<std::size_t>(layout)] = true;
    reports_jobs = reports_jobs || (added && !optional);
  }
  if (!reports_jobs) return why;
  // Ends before beginnings.
  std::stable_partition(reader.tracepoints_.begin(), reader.tracepoints_.end(), [&](const JobTracepoint& tracepoint) {
    return reader.fields_[reader.by_id_.at(static_cast<std::uint16_t>(tracepoint.id))].kind != JobEventKind::submitted;
  });
  return reader;
}

const JobEventFields* JobEventReader::fields_of(const TraceRecord& record) const {
  const auto place = by_id_.find(record.event_id());
  return place == by_id_.end() ? nullptr : &fields_[place->second];
}

bool JobEventReader::reads(const TraceRecord& record) const { return fields_of(record) != nullptr; }

std::optional<JobEvent> JobEventReader::job_event(const TraceRecord& record) const {
  const JobEventFields* const known = fields_of(record);
  if (known == nullptr || known->is_wait) return std::nullopt;
  const JobEventFields& fields = *known;
  JobEvent event;
  event.kind = fields.kind;
  event.source = source_of(fields.layout);
  event.time_ns = record.time_ns;
  event.in_interrupt = record.in_hard_interrupt();
  event.pid = record.pid != 0 ? record.pid : record.tid;
  event.tid = record.tid;
  const std::uint64_t seqno = number_in(record, fields.seqno);
  event.key = {number_in(record, fields.context), seqno};
  switch (fields.layout) {
    case JobLayout::drm_sched:
    case JobLayout::drm_sched_old:
      if (fields.kind == JobEventKind::submitted) {
        event.ring = record.text(*fields.ring);
        if (fields.device) event.device = record.text(*fields.device);
        event.client = number_in(record, fields.client);
        event.number = number_in(record, fields.number);
        event.engine_class = class_of_ring(event.ring.view());
        const std::uint64_t device = hash_of(event.device.view());
        event.context = fields.context ? event.key.context : number_in(record, fields.entity);
        if (event.context == 0) event.context = hash_of(event.ring.view(), device);
        switch (event.engine_class) {
          case JobClass::render:
          case JobClass::copy:
          case JobClass::compute:
            // xe names a queue, and these classes have one engine.
            if (!several_cards_ || fields.device) event.engine = hash_of(to_string(event.engine_class), device);
            break;
          case JobClass::other: event.engine = hash_of(event.ring.view(), device); break;
          default: break;
        }
      } else if (fields.kind == JobEventKind::dependency) {
        event.other = {number_in(record, fields.dependency_context), number_in(record, fields.dependency_seqno)};
        if (fields.layout == JobLayout::drm_sched_old) {
          event.key = {};
          event.number = number_in(record, fields.number);
          if (fields.ring->is_text)
            event.ring = record.text(*fields.ring);
          else
            event.ring_address = record.number(*fields.ring);
        }
      }
      return event;
    case JobLayout::xe:
      event.key = {};
      event.queue_number = static_cast<std::uint32_t>(number_in(record, fields.queue_number));
      event.error = static_cast<int>(number_in(record, fields.error));
      if (fields.device && fields.device->is_text) event.device = record.text(*fields.device);
      event.engine_class = fields.engine_class ? class_of_xe(record.number(*fields.engine_class)) : JobClass::other;
      return event;
    case JobLayout::i915:
    case JobLayout::i915_low_level:
      event.key = short_key(event.key.context, seqno);
      if (fields.kind == JobEventKind::submitted) {
        const std::uint64_t instance = number_in(record, fields.instance);
        event.engine_class = class_of_i915(number_in(record, fields.engine_class));
        event.instance = static_cast<int>(instance);
        event.context = number_in(record, fields.context);
        event.device = "card" + std::to_string(number_in(record, fields.device));
        event.ring = i915_ring(event.engine_class, instance);
        event.engine = hash_of(event.ring.view(), hash_of(event.device.view()));
      } else if (fields.completed && record.number(*fields.completed) == 0) {
        event.kind = JobEventKind::preempted;
      }
      return event;
    case JobLayout::amdgpu:
      event.key = short_key(event.key.context, seqno);
      if (fields.kind == JobEventKind::submitted) {
        event.context = event.key.context;
        if (fields.ring) event.ring = record.text(*fields.ring);
        event.engine = hash_of(event.ring.view(), 1);
      }
      return event;
    case JobLayout::virtio_gpu: {
      if (seqno == 0) return std::nullopt;  // not fenced
      const std::uint64_t device = number_in(record, fields.device), queue = number_in(record, fields.virtqueue);
      event.key = {kVirtio | device << 32 | queue, seqno};
      if (fields.kind == JobEventKind::submitted) {
        event.context = event.key.context;
        event.engine = event.key.context;
        event.device = "virtio" + std::to_string(device);
        event.ring = fields.ring && fields.ring->is_text ? record.text(*fields.ring)
                     : queue == 0                        ? std::string_view("control")
                                                         : std::string_view("cursor");
      }
      return event;
    }
    case JobLayout::waits: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<FenceWaitEvent> JobEventReader::wait_event(const TraceRecord& record) const {
  const JobEventFields* const known = fields_of(record);
  if (known == nullptr || !known->is_wait) return std::nullopt;
  const JobEventFields& fields = *known;
  return FenceWaitEvent{.begins = fields.wait_begins,
                        .time_ns = record.time_ns,
                        .pid = record.pid != 0 ? record.pid : record.tid,
                        .tid = record.tid,
                        .fence = short_key(number_in(record, fields.context), number_in(record, fields.seqno))};
}

}  // namespace igpu
