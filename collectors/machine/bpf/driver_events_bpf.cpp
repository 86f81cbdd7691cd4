// SPDX-License-Identifier: Apache-2.0
#include "machine/driver_events.h"

#ifndef IGPU_HAS_BPF
#include <cerrno>

namespace igpu {

Reading<std::unique_ptr<JobCounters>> open_job_counters(JobDriver, bool) { return Absent{Reason::disabled, ENOSYS}; }
Reading<std::unique_ptr<QueueFaults>> open_queue_faults() { return Absent{Reason::disabled, ENOSYS}; }

}  // namespace igpu

#else
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "igpu/unique_fd.h"
#include "jobs_object.h"
#include "machine/bpf/bpf_object.h"
#include "machine/bpf/struct_offsets.h"
#include "machine/filesystem.h"
#include "queue_faults_object.h"

namespace igpu {
namespace {

using bpf::descriptor_of;
using bpf::Link;
using bpf::MappedSlots;
using bpf::Object;
using bpf::program;

// A program and what its tracepoint is called: until Linux 6.15 or 6.16, and since then.
struct JobAttachment {
  const char* program;
  std::array<const char*, 2> tracepoints;
};
constexpr JobAttachment kScheduler[] = {{"scheduler_done", {"drm_sched_process_job", "drm_sched_job_done"}},
                                        {"scheduler_handed_over", {"drm_run_job", "drm_sched_job_run"}},
                                        {"scheduler_submitted", {"drm_sched_job", "drm_sched_job_queue"}}};
constexpr JobAttachment kI915[] = {{"fence_signalled", {"dma_fence_signaled", nullptr}},
                                   {"request_submitted", {"i915_request_queue", nullptr}}};

std::span<const JobAttachment> attachments(JobDriver driver) {
  return driver == JobDriver::i915 ? std::span<const JobAttachment>(kI915) : std::span<const JobAttachment>(kScheduler);
}

constexpr const char* kTypes = "/sys/kernel/btf";

struct Layout {
  job_layout offsets{};
  std::uint32_t preempt_variable = 0;  // the type that JOB_PREEMPT_VARIABLE stands for
};

// x86: a variable of each processor, before Linux 6.2 and since 6.15 of its own, in between a member of another one.
void find_preempt_count(const StructOffsets& types, Layout& layout) {
  if (const auto own = types.variable("__preempt_count")) {
    layout.preempt_variable = *own;
  } else if (const auto whole = types.variable("pcpu_hot")) {
    const auto member = types.offset("pcpu_hot", {"preempt_count"});
    if (!member) return;
    layout.preempt_variable = *whole;
    layout.offsets.preempt_count = *member;
  }
}

// errno: ENODATA if the kernel does not describe its types, ENOENT if the driver is not there.
std::optional<Layout> read_layout(JobDriver driver, bool all_classes) {
  const auto types = StructOffsets::read(kTypes, driver == JobDriver::i915 ? "i915" : "gpu_sched");
  if (!types) {
    errno = ENODATA;
    return std::nullopt;
  }
  Layout found;
  job_layout& layout = found.offsets;
  bool whole = true;
  const auto set = [&](unsigned int& to, std::optional<std::uint32_t> offset) {
    whole = whole && offset;
    to = offset.value_or(0);
  };
  if (driver == JobDriver::i915) {
    set(layout.request_fence, types->offset("i915_request", {"fence"}));
    set(layout.request_engine, types->offset("i915_request", {"engine"}));
    set(layout.engine_class, types->offset("intel_engine_cs", {"uabi_class"}));
    set(layout.engine_i915, types->offset("intel_engine_cs", {"i915"}));
    set(layout.i915_device, types->offset("drm_i915_private", {"drm", "dev"}));
    set(layout.dma_signalling_bit, types->enumerator("DMA_FENCE_FLAG_ENABLE_SIGNAL_BIT"));
  } else {
    set(layout.job_fence, types->offset("drm_sched_job", {"s_fence"}));
    set(layout.job_scheduler, types->offset("drm_sched_job", {"sched"}));
    set(layout.fence_finished, types->offset("drm_sched_fence", {"finished"}));
    set(layout.fence_parent, types->offset("drm_sched_fence", {"parent"}));
    set(layout.scheduler_name, types->offset("drm_gpu_scheduler", {"name"}));
    set(layout.scheduler_device, types->offset("drm_gpu_scheduler", {"dev"}));
  }
  set(layout.device_name, types->offset("device", {"kobj", "name"}));
  set(layout.dma_error, types->offset("dma_fence", {"error"}));
  set(layout.dma_flags, types->offset("dma_fence", {"flags"}));
  layout.all_classes = all_classes ? 1 : 0;
  set(layout.task_leader, types->offset("task_struct", {"group_leader"}));
  set(layout.task_born, types->offset("task_struct", {"start_boottime"}));
  find_preempt_count(*types, found);
  if (whole) return found;
  errno = ENOENT;
  return std::nullopt;
}

// Puts the number where the program has its place for it; as libbpf does for a variable that a program declares, but
// without a search of all modules, which takes CAP_SYS_ADMIN.
int set_variable(bpf_program* of, std::uint32_t type) {
  const std::size_t count = ::bpf_program__insn_cnt(of);
  const bpf_insn* const first = ::bpf_program__insns(of);
  std::vector<bpf_insn> instructions(first, first + count);
  for (std::size_t i = 0; i + 1 < count; ++i) {
    bpf_insn& wide = instructions[i];
    if (wide.code != (BPF_LD | BPF_IMM | BPF_DW) || wide.src_reg != 0 || wide.imm != JOB_PREEMPT_VARIABLE) continue;
    wide.src_reg = BPF_PSEUDO_BTF_ID;
    wide.imm = static_cast<std::int32_t>(type);
    instructions[i + 1].imm = 0;  // of the kernel, not of a module
  }
  return ::bpf_program__set_insns(of, instructions.data(), count);
}

// errno says why there is none.
Object load_job_programs(JobDriver driver, const Layout& found) {
  job_layout layout = found.offsets;
  layout.preempt_count_known = found.preempt_variable != 0;
  Object object = bpf::open_object(jobs_object, jobs_objectSize, "igpu_jobs", layout);
  if (!object) return nullptr;
  const JobDriver other = driver == JobDriver::i915 ? JobDriver::drm_sched : JobDriver::i915;
  for (const JobAttachment& unused : attachments(other))
    ::bpf_program__set_autoload(program(object, unused.program), false);
  for (const JobAttachment& used : attachments(driver)) {
    if (found.preempt_variable == 0) break;
    if (const int error = set_variable(program(object, used.program), found.preempt_variable); error != 0) {
      errno = -error;
      return nullptr;
    }
  }
  return bpf::loaded(std::move(object));
}

Link attach(const Object& object, const JobAttachment& attachment) {
  for (const char* name : attachment.tracepoints) {
    if (name == nullptr) continue;
    Link link(::bpf_program__attach_raw_tracepoint(program(object, attachment.program), name));
    if (link || errno != ENOENT) return link;
  }
  errno = ENOENT;
  return nullptr;
}

class BpfJobCounters final : public JobCounters {
 public:
  BpfJobCounters(Object object, bool all_classes)
      : object_(std::move(object)),
        all_classes_(all_classes),
        slots_(descriptor_of(object_, "slots"), JOB_SLOTS, PROT_READ),
        process_slots_(descriptor_of(object_, "process_slots"), JOB_PROCESS_SLOTS, PROT_READ | PROT_WRITE) {}

  // The end first and the submission last: a job that is counted as submitted is seen to its end. errno: why not.
  bool attach_all(JobDriver driver) {
    if (slots_.get() == nullptr || process_slots_.get() == nullptr) return false;
    for (const JobAttachment& attachment : attachments(driver)) {
      links_.push_back(attach(object_, attachment));
      if (!links_.back()) return false;
      const int descriptor = ::bpf_program__fd(program(object_, attachment.program));
      const std::string path = "/proc/self/fdinfo/" + std::to_string(descriptor);
      facts_.emplace_back(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    }
    return true;
  }

  std::span<const std::uint64_t, JOB_SLOTS> slots() const override {
    return std::span<const std::uint64_t, JOB_SLOTS>(slots_.get(), JOB_SLOTS);
  }

  std::span<std::uint64_t> process_slots() const override { return process_slots_.all(); }
  bool all_classes() const override { return all_classes_; }

  Reading<std::uint64_t> recursion_misses() const override {
    std::uint64_t sum = 0;
    for (const UniqueFd& facts : facts_) {
      if (!facts) return Absent{Reason::kernel, ENOENT};
      char text[1024];
      const ssize_t size = ::pread(facts.get(), text, sizeof text, 0);
      if (size < 0) return outcome_of_errno<std::uint64_t>(errno, "fdinfo of a BPF program");
      constexpr std::string_view kName = "recursion_misses:\t";
      const std::string_view line(text, static_cast<std::size_t>(size));
      const std::size_t at = line.find(kName);
      std::uint64_t misses = 0;
      if (at == std::string_view::npos ||
          std::from_chars(line.data() + at + kName.size(), line.data() + line.size(), misses).ec != std::errc{})
        return Absent{Reason::kernel, ENOENT};
      sum += misses;
    }
    return sum;
  }

 private:
  Object object_;
  bool all_classes_;
  MappedSlots slots_, process_slots_;
  std::vector<Link> links_;
  std::vector<UniqueFd> facts_;  // of the programs
};

struct FaultAttachment {
  const char* program;
  const char* tracepoint;
  bool is_optional = false;
};
// A queue that is created between the first and the last one has an owner.
constexpr FaultAttachment kAttachments[] = {{"queue_created", "xe_exec_queue_create"},
                                            {"queue_created", "xe_exec_queue_create_multi_queue", true},  // Linux 7.0
                                            {"queue_destroyed", "xe_exec_queue_destroy", true},
                                            // Without it, a hang could not be told from the end of a program.
                                            {"queue_killed", "xe_exec_queue_kill"},
                                            {"queue_memory_error", "xe_exec_queue_memory_cat_error", true},
                                            {"queue_reset", "xe_exec_queue_reset"},
                                            {"job_timed_out", "xe_sched_job_timedout"}};

// errno says why there is none.
Object load_fault_programs(const fault_layout& layout) {
  Object object = bpf::open_object(queue_faults_object, queue_faults_objectSize, "igpu_faults", layout);
  return object ? bpf::loaded(std::move(object)) : nullptr;
}

class BpfQueueFaults final : public QueueFaults {
 public:
  explicit BpfQueueFaults(Object object)
      : object_(std::move(object)), slots_(descriptor_of(object_, "faults"), FAULT_SLOTS, PROT_READ) {}

  // errno: why not.
  bool attach_all() {
    if (slots_.get() == nullptr) return false;
    for (const FaultAttachment& attachment : kAttachments) {
      Link link(::bpf_program__attach_raw_tracepoint(program(object_, attachment.program), attachment.tracepoint));
      if (!link && !(attachment.is_optional && errno == ENOENT)) {
        if (errno == ENOENT) errno = ENODATA;  // xe is there: another attempt would find as little
        return false;
      }
      if (link) links_.push_back(std::move(link));
    }
    return true;
  }

  std::span<const std::uint64_t, FAULT_SLOTS> slots() const override {
    return std::span<const std::uint64_t, FAULT_SLOTS>(slots_.get(), FAULT_SLOTS);
  }

 private:
  Object object_;
  MappedSlots slots_;
  std::vector<Link> links_;
};

}  // namespace

Reading<std::unique_ptr<JobCounters>> open_job_counters(JobDriver driver, bool all_classes) {
  bpf::silence_libbpf();
  auto layout = read_layout(driver, all_classes);
  if (!layout) return bpf::why_not();
  Object object = load_job_programs(driver, *layout);
  if (!object && layout->preempt_variable != 0) {
    // Without CONFIG_KALLSYMS_ALL the kernel does not find its own variables.
    layout->preempt_variable = 0;
    object = load_job_programs(driver, *layout);
  }
  if (!object) return bpf::why_not();
  auto counters = std::make_unique<BpfJobCounters>(std::move(object), all_classes);
  if (!counters->attach_all(driver)) return bpf::why_not();
  return std::unique_ptr<JobCounters>(std::move(counters));
}

Reading<std::unique_ptr<QueueFaults>> open_queue_faults() {
  bpf::silence_libbpf();
  const auto layout = read_fault_layout(kTypes, "/sys/module");
  if (!layout) return layout.propagate<std::unique_ptr<QueueFaults>>();
  Object object = load_fault_programs(*layout);
  if (!object) return bpf::why_not();
  auto faults = std::make_unique<BpfQueueFaults>(std::move(object));
  if (!faults->attach_all()) return bpf::why_not();
  return std::unique_ptr<QueueFaults>(std::move(faults));
}

}  // namespace igpu
#endif
