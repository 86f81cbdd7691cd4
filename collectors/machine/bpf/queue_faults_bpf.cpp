// SPDX-License-Identifier: Apache-2.0
#include "machine/driver_events.h"

#ifndef IGPU_HAS_BPF
#include <cerrno>

namespace igpu {

Reading<std::unique_ptr<QueueFaults>> open_queue_faults() { return Absent{Reason::disabled, ENOSYS}; }

}  // namespace igpu

#else
#include <bpf/libbpf.h>
#include <sys/mman.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "machine/bpf/bpf_object.h"
#include "machine/bpf/struct_offsets.h"
#include "queue_faults_object.h"

namespace igpu {
namespace {

using bpf::Link;
using bpf::Object;

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
      : object_(std::move(object)), slots_(bpf::descriptor_of(object_, "faults"), FAULT_SLOTS, PROT_READ) {}

  // errno: why not.
  bool attach_all() {
    if (slots_.get() == nullptr) return false;
    for (const FaultAttachment& attachment : kAttachments) {
      Link link(::bpf_program__attach_raw_tracepoint(bpf::program(object_, attachment.program), attachment.tracepoint));
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
  bpf::MappedSlots slots_;
  std::vector<Link> links_;
};

}  // namespace

Reading<std::unique_ptr<QueueFaults>> open_queue_faults() {
  bpf::silence_libbpf();
  const auto layout = read_fault_layout("/sys/kernel/btf", "/sys/module");
  if (!layout) return layout.propagate<std::unique_ptr<QueueFaults>>();
  Object object = load_fault_programs(*layout);
  if (!object) return bpf::why_not();
  auto faults = std::make_unique<BpfQueueFaults>(std::move(object));
  if (!faults->attach_all()) return bpf::why_not();
  return std::unique_ptr<QueueFaults>(std::move(faults));
}

}  // namespace igpu
#endif
