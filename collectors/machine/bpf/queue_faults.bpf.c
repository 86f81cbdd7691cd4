// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
//
// Hangs of xe's queues, and who created them: drivers/gpu/drm/xe/xe_trace.h. A hang is reported by a thread of the
// kernel, which knows the queue only, so its owner is remembered from its creation. No CO-RE: see jobs.bpf.c.
// clang-format off: the other headers need the types of this one
#include <linux/bpf.h>
// clang-format on
#include <bpf/bpf_helpers.h>

#include "fault_slots.h"
#include "kernel_memory.h"

char kLicense[] SEC("license") = "Dual BSD/GPL";

const volatile struct fault_layout layout = {};  // set before the programs are loaded

enum { kQueues = 16384 };

struct slots {
  __u64 slot[FAULT_SLOTS];
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct slots);
} faults SEC(".maps");

struct owner {
  __u64 pid;  // 0: the queue is older than these programs
  __u64 is_killed;
  char name[FAULT_NAME_SIZE];
};

// By the address of the queue. The one that nobody used for longest makes room.
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, kQueues);
  __type(key, __u64);
  __type(value, struct owner);
} owners SEC(".maps");

static __always_inline __u32 number_at(__u64 address, __u32 offset) {
  __u32 value = 0;
  bpf_probe_read_kernel(&value, sizeof value, (void*)(address + offset));
  return value;
}

// Of the kernel's own queues, and those of its VMs, no process is to blame, whichever created them: the kernel log
// names none either.
static __always_inline int belongs_to_process(__u64 queue) {
  const __u64 vm = pointer_at(queue, layout.queue_vm);
  return vm && pointer_at(vm, layout.vm_file);
}

static __always_inline void report(__u64 queue, __u64 kind) {
  const __u32 first = 0;
  struct slots* const all = bpf_map_lookup_elem(&faults, &first);
  if (!all) return;
  const __u64 number = __sync_fetch_and_add(&all->slot[FAULT_WRITTEN], 1);
  __u64* const place = &all->slot[(1 + number % FAULT_PLACES) * FAULT_PLACE_SLOTS];
  __sync_lock_test_and_set(&place[FAULT_SEQUENCE], 0);  // with a barrier
  const __u64 gt = pointer_at(queue, layout.queue_gt);
  const __u64 xe = pointer_at(pointer_at(gt, layout.gt_tile), layout.tile_xe);
  const __u64 device = pointer_at(xe, layout.xe_device);
  char name[FAULT_NAME_SIZE] = {};
  bpf_probe_read_kernel_str(name, sizeof name, (void*)pointer_at(device, layout.device_name));
  __builtin_memcpy(&place[FAULT_DEVICE], name, sizeof name);
  const struct owner* const owner = belongs_to_process(queue) ? bpf_map_lookup_elem(&owners, &queue) : 0;
  struct owner who = {};
  if (owner) who = *owner;
  __builtin_memcpy(&place[FAULT_PROCESS], who.name, sizeof who.name);
  place[FAULT_PID] = who.pid;
  place[FAULT_TIME] = bpf_ktime_get_ns();
  const __u64 class = number_at(queue, layout.queue_class) & 0xff;
  const __u64 gt_id = number_at(gt, layout.gt_id) & 0xff;
  const __u64 guc_id = number_at(pointer_at(queue, layout.queue_guc), layout.guc_id) & 0xffff;
  place[FAULT_WHAT] = kind | class << 8 | gt_id << 16 | guc_id << 32;
  __sync_lock_test_and_set(&place[FAULT_SEQUENCE], number + 1);
}

// xe_exec_queue_create and _create_multi_queue: (struct xe_exec_queue*), in the process that asked for it
SEC("raw_tp")
int queue_created(struct arguments* event) {
  const __u64 queue = event->at[0];
  const __u64 leader = pointer_at(bpf_get_current_task(), layout.task_leader);
  struct owner owner = {.pid = bpf_get_current_pid_tgid() >> 32};
  bpf_probe_read_kernel_str(owner.name, sizeof owner.name, (void*)(leader + layout.task_name));
  bpf_map_update_elem(&owners, &queue, &owner, BPF_ANY);
  return 0;
}

// xe_exec_queue_destroy: (struct xe_exec_queue*)
SEC("raw_tp")
int queue_destroyed(struct arguments* event) {
  const __u64 queue = event->at[0];
  bpf_map_delete_elem(&owners, &queue);
  return 0;
}

// xe_exec_queue_kill: (struct xe_exec_queue*), before xe ends its jobs: the process has ended, or closed it
SEC("raw_tp")
int queue_killed(struct arguments* event) {
  const __u64 queue = event->at[0];
  struct owner* const owner = bpf_map_lookup_elem(&owners, &queue);
  if (owner) {
    owner->is_killed = 1;
    return 0;
  }
  const struct owner unknown = {.is_killed = 1};
  bpf_map_update_elem(&owners, &queue, &unknown, BPF_ANY);
  return 0;
}

// xe_exec_queue_reset: (struct xe_exec_queue*)
SEC("raw_tp")
int queue_reset(struct arguments* event) {
  report(event->at[0], FAULT_ENGINE_RESET);
  return 0;
}

// xe_exec_queue_memory_cat_error: (struct xe_exec_queue*)
SEC("raw_tp")
int queue_memory_error(struct arguments* event) {
  report(event->at[0], FAULT_CAT_ERROR);
  return 0;
}

// xe_sched_job_timedout: (struct xe_sched_job*). Linux 6.8 also reports jobs that were done after all, and every
// version the jobs of a queue that was killed, for which xe writes neither a line nor a dump
// (guc_exec_queue_timedout_job() in xe_guc_submit.c): no hang.
SEC("raw_tp")
int job_timed_out(struct arguments* event) {
  const __u64 fence = pointer_at(event->at[0], layout.job_fence);
  const __u64 flags = fence ? pointer_at(fence, layout.dma_flags) : 0;
  if (flags >> (layout.dma_signalled_bit & 63) & 1) return 0;
  const __u64 queue = pointer_at(event->at[0], layout.job_queue);
  const struct owner* const owner = bpf_map_lookup_elem(&owners, &queue);
  if (owner && owner->is_killed) return 0;
  report(queue, FAULT_JOB_TIMEOUT);
  return 0;
}
