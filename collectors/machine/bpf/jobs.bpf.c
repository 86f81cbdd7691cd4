// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
//
// Counts GPU jobs inside the kernel: time in the queue, time on the engine, outcome. The rules are those of
// base/job_pairing.h. Raw tracepoints: programs that are attached through perf share one guard per processor and lose
// events in a flood, uncounted. No CO-RE: libbpf may relocate against a module's BTF only with CAP_SYS_ADMIN, so the
// loader reads the offsets itself.
// clang-format off: the other headers need the types of this one
#include <linux/bpf.h>
// clang-format on
#include <bpf/bpf_helpers.h>

#include "engine_ends.h"
#include "job_slots.h"
#include "kernel_memory.h"

char kLicense[] SEC("license") = "Dual BSD/GPL";

const volatile struct job_layout layout = {};  // set before the programs are loaded

enum {
  kPlaces = 65536, /* for jobs in flight; a power of two */
  kProbes = 8,     /* places that a job may have */
};
#define HARDIRQ_MASK 0x000f0000     // include/linux/preempt.h
#define EVICTION_AGE 10000000000ull /* ns */
#define FREE 0ull
#define TAKEN 1ull /* by a processor that writes the place */

struct group_key {
  char device[JOB_DEVICE_SIZE];
  __u32 kind;
};

struct process_key {
  struct group_key group;
  __u32 pid;
  __u64 born;
};

struct flight {
  __u64 fence; /* its address, or FREE, or TAKEN */
  __u64 submitted, handed_over;
  __u64 engine;  // equal for jobs that run one at a time
  __u32 group;
  __u32 process_group;  // 0: none
  __u32 source;
};

struct group_counters {
  __u64 slot[JOB_GROUP_SLOTS];
};

struct counters {
  __u64 slot[JOB_GROUPS][JOB_GROUP_SLOTS];
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct counters);
} slots SEC(".maps");

// Our own hash tables, over arrays: the kernel's took half of the instructions of an event (tests/bench/job_events).
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, kPlaces);
  __type(key, __u32);
  __type(value, struct flight);
} in_flight SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, ENGINE_SETS);
  __type(key, __u32);
  __type(value, struct engine_set);
} last_end SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, JOB_GROUPS);
  __type(key, struct group_key);
  __type(value, __u32);
} groups SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, JOB_PROCESS_GROUPS);
  __type(key, __u32);
  __type(value, struct group_counters);
} process_slots SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, JOB_PROCESS_GROUPS);
  __type(key, struct process_key);
  __type(value, __u32);
} process_groups SEC(".maps");

static __always_inline struct counters* all_counters(void) {
  const __u32 first = 0;
  return bpf_map_lookup_elem(&slots, &first);
}

static __always_inline void add(struct counters* counters, __u32 group, __u32 slot, __u64 value) {
  __sync_fetch_and_add(&counters->slot[group % JOB_GROUPS][slot % JOB_GROUP_SLOTS], value);
}

// Whether the event comes from an interrupt, as a tracepoint's common_flags say.
static __always_inline int in_interrupt(void) {
  void* variable;
  __u32 count = 0;
  asm volatile("%0 = %1 ll" : "=r"(variable) : "i"(JOB_PREEMPT_VARIABLE));
  bpf_probe_read_kernel(&count, sizeof count, bpf_this_cpu_ptr(variable) + layout.preempt_count);
  return (count & HARDIRQ_MASK) != 0;
}

// Buckets end at 16 us << i.
static __always_inline __u32 bucket_of(__u64 nanoseconds) {
  __u64 units = nanoseconds ? (nanoseconds - 1) / 16000 : 0;
  if (units >> (JOB_BUCKETS - 1)) return JOB_BUCKETS - 1;
  __u32 bits = 0;
  if (units >> 16) bits += 16, units >>= 16;
  if (units >> 8) bits += 8, units >>= 8;
  if (units >> 4) bits += 4, units >>= 4;
  if (units >> 2) bits += 2, units >>= 2;
  return bits + (units > 1 ? 2 : units);
}

static __always_inline __u32 class_of_ring(const char* ring) {
  if (ring[1] == 'c' && ring[2] == 's') {
    switch (ring[0]) {
      case 'r': return JOB_CLASS_RENDER;
      case 'b': return JOB_CLASS_COPY;
      case 'v': return JOB_CLASS_VIDEO;
      case 'c': return JOB_CLASS_COMPUTE;
    }
  }
  if (ring[0] == 'v' && ring[1] == 'e' && ring[2] == 'c' && ring[3] == 's') return JOB_CLASS_VIDEO_ENHANCE;
  return JOB_CLASS_OTHER;
}

// Group 0: there is no room for another one.
static __always_inline __u32 group_of(struct counters* counters, const struct group_key* key) {
  __u32* known = bpf_map_lookup_elem(&groups, key);
  if (known) return *known;
  const __u32 number = (__u32)__sync_fetch_and_add(&counters->slot[0][JOB_GROUPS_USED], 1) + 1;
  if (number >= JOB_GROUPS) return 0;
  // Another processor may have been first. Its group counts then; this one stays empty.
  if (bpf_map_update_elem(&groups, key, &number, BPF_NOEXIST) != 0) {
    known = bpf_map_lookup_elem(&groups, key);
    return known ? *known : 0;
  }
  __u64* const slot = counters->slot[number % JOB_GROUPS];
  __builtin_memcpy(&slot[JOB_DEVICE], key->device, JOB_DEVICE_SIZE);
  __sync_fetch_and_add(&slot[JOB_KIND], (__u64)(key->kind | JOB_KIND_KNOWN));
  return number;
}

static __always_inline __u64* process_counters(__u32 number) { return bpf_map_lookup_elem(&process_slots, &number); }

static __always_inline __u64 current_process_born(void) {
  const __u64 leader = pointer_at(bpf_get_current_task(), layout.task_leader);
  return pointer_at(leader, layout.task_born);
}

// A group that nobody uses; 0: there is none.
static __always_inline __u32 take_process_group(__u32 pid) {
  __u64* const head = process_counters(0);
  if (!head) return 0;
  const __u64 taken = head[JOB_FREE_TAKEN];
  if (taken < head[JOB_FREE_ADDED]) {
    const __u64* const entry = process_counters(taken % JOB_PROCESS_GROUPS);
    const __u32 number = entry ? entry[JOB_FREE_GROUP] : 0;
    if (__sync_val_compare_and_swap(&head[JOB_FREE_TAKEN], taken, taken + 1) == taken) return number;
  }
  const __u64 limit = pid ? JOB_PROCESS_GROUPS - JOB_PROCESS_GROUPS_RESERVED : JOB_PROCESS_GROUPS;
  if (head[JOB_PROCESS_GROUPS_USED] + 1 >= limit) return 0;
  const __u64 number = __sync_fetch_and_add(&head[JOB_PROCESS_GROUPS_USED], 1) + 1;
  return number < limit ? number : 0;
}

static __noinline __u32 make_process_group(const struct process_key* key) {
  if (!key) return 0;
  const __u32 number = take_process_group(key->pid);
  __u64* const slot = number ? process_counters(number) : 0;
  if (!slot) return 0;
  // The process that used it until now has ended.
  struct process_key old = {.group.kind = slot[JOB_KIND], .pid = slot[JOB_PROCESS], .born = slot[JOB_BORN]};
  __builtin_memcpy(old.group.device, &slot[JOB_DEVICE], JOB_DEVICE_SIZE);
  const __u32* const still = bpf_map_lookup_elem(&process_groups, &old);
  if (still && *still == number) bpf_map_delete_elem(&process_groups, &old);
  __builtin_memcpy(&slot[JOB_DEVICE], key->group.device, JOB_DEVICE_SIZE);
  slot[JOB_PROCESS] = key->pid;
  slot[JOB_BORN] = key->born;
  if (bpf_map_update_elem(&process_groups, key, &number, BPF_NOEXIST) != 0) {
    // Another processor was first, or the group that is known was freed although its process runs.
    const __u32* const known = bpf_map_lookup_elem(&process_groups, key);
    const __u64* const other = known ? process_counters(*known) : 0;
    if (other && other[JOB_KIND] & JOB_KIND_KNOWN) {
      slot[JOB_KIND] = JOB_KIND_ABANDONED;
      return *known;
    }
    bpf_map_update_elem(&process_groups, key, &number, BPF_ANY);
  }
  // With a barrier: who sees the kind sees the rest.
  __sync_fetch_and_add(&slot[JOB_KIND], key->group.kind + JOB_KIND_KNOWN - slot[JOB_KIND]);
  return number;
}

// Of the process that runs now. 0: it has none, and its jobs are counted for nobody.
static __always_inline __u32 process_group_of(const struct group_key* group) {
  struct process_key key = {.group = *group, .pid = bpf_get_current_pid_tgid() >> 32, .born = current_process_born()};
  const __u32* known = bpf_map_lookup_elem(&process_groups, &key);
  if (known) {
    const __u64* const slot = process_counters(*known);
    if (slot && slot[JOB_KIND] & JOB_KIND_KNOWN) return *known;
  }
  const __u32 made = make_process_group(&key);
  if (made) return made;
  key.pid = 0;
  key.born = 0;
  known = bpf_map_lookup_elem(&process_groups, &key);
  return known ? *known : make_process_group(&key);
}

static __always_inline void add_to_process(__u32 group, __u32 slot, __u64 value) {
  if (group == 0) return;
  __u64* const counters = process_counters(group);
  if (counters) __sync_fetch_and_add(&counters[slot % JOB_GROUP_SLOTS], value);
}

// In the group of all processes, and in that of the one that submitted the job.
static __always_inline void count_outcome(struct counters* counters, const struct flight* flight, __u32 outcome) {
  add(counters, flight->group, JOB_OUTCOME + outcome, 1);
  add_to_process(flight->process_group, JOB_OUTCOME + outcome, 1);
}

static __always_inline void count_time(struct counters* counters, const struct flight* flight, __u32 buckets, __u32 sum,
                                       __u64 nanoseconds) {
  const __u32 bucket = buckets + bucket_of(nanoseconds);
  add(counters, flight->group, bucket, 1);
  add(counters, flight->group, sum, nanoseconds);
  if (!layout.all_classes) return;
  add_to_process(flight->process_group, bucket, 1);
  add_to_process(flight->process_group, sum, nanoseconds);
}

static __always_inline __u32 hash(__u64 key) { return (key * 0x9e3779b97f4a7c15ull) >> 32; }

static __always_inline struct flight* place_of(__u64 fence, __u32 probe) {
  const __u32 place = (hash(fence) + probe) % kPlaces;
  return bpf_map_lookup_elem(&in_flight, &place);
}

static __always_inline struct flight* find(__u64 fence) {
  if (fence <= TAKEN) return 0;
#pragma unroll
  for (__u32 i = 0; i < kProbes; ++i) {
    struct flight* const flight = place_of(fence, i);
    if (flight && flight->fence == fence) return flight;
  }
  return 0;
}

// With a barrier.
static __always_inline int change(struct flight* flight, __u64 from, __u64 to) {
  return __sync_val_compare_and_swap(&flight->fence, from, to) == from;
}

// A place for the job, TAKEN. Jobs whose end was never reported, those of killed processes for example, lose theirs to
// others after a while.
static __always_inline struct flight* take_place(struct counters* counters, __u64 fence, __u64 now) {
  // An address that is still in the table: the end of its last job was lost.
  struct flight* const same = find(fence);
  if (same && change(same, fence, TAKEN)) {
    count_outcome(counters, same, JOB_EVICTED);
    return same;
  }
#pragma unroll
  for (__u32 i = 0; i < kProbes; ++i) {
    struct flight* const flight = place_of(fence, i);
    if (flight && flight->fence == FREE && change(flight, FREE, TAKEN)) return flight;
  }
  for (__u32 i = 0; i < kProbes; ++i) {
    struct flight* const flight = place_of(fence, i);
    if (!flight || flight->submitted + EVICTION_AGE > now) continue;
    const __u64 old = flight->fence;
    if (old == TAKEN || !change(flight, old, TAKEN)) continue;
    if (old != FREE) count_outcome(counters, flight, JOB_EVICTED);
    return flight;
  }
  return 0;
}

static __always_inline void submitted(struct counters* counters, __u64 fence, const struct group_key* key,
                                      __u64 engine) {
  const __u64 now = bpf_ktime_get_ns();
  const __u32 group = group_of(counters, key);
  struct flight* const flight = group && fence > TAKEN ? take_place(counters, fence, now) : 0;
  if (!flight) {
    add(counters, 0, JOB_LOST_TABLE_FULL, 1);
    return;
  }
  flight->submitted = now;
  flight->handed_over = 0;
  flight->engine = engine;
  flight->group = group;
  flight->process_group = layout.all_classes || (key->kind & 0xff) == JOB_CLASS_VIDEO ? process_group_of(key) : 0;
  flight->source = key->kind >> JOB_KIND_SOURCE;
  const __u32 process_group = flight->process_group;
  change(flight, TAKEN, fence);
  add_to_process(process_group, JOB_SUBMITTED, 1);
}

static __always_inline void ended(struct counters* counters, __u64 fence, struct flight* in_table, __u32 outcome,
                                  int exact) {
  // Two reports of one end: the first one counts.
  if (!change(in_table, fence, TAKEN)) return;
  const struct flight flight = *in_table;
  change(in_table, TAKEN, FREE);
  const __u64 now = bpf_ktime_get_ns();
  __u64 start = flight.handed_over ? flight.handed_over : flight.submitted;
  const __u32 number = hash(flight.engine) % ENGINE_SETS;
  struct engine_set* const set = bpf_map_lookup_elem(&last_end, &number);
  if (!set) return;
  struct engine_end* const last = place_of_engine(set, flight.engine);
  const __u64 before = last->end;
  if (last->engine == flight.engine && before > start && before <= now) start = before;
  count_outcome(counters, &flight, outcome);
  if (outcome == JOB_BOUND && flight.source == JOB_SOURCE_I915) return;
  if (start >= flight.submitted) count_time(counters, &flight, JOB_QUEUE, JOB_QUEUE_NS, start - flight.submitted);
  if (outcome == JOB_LONG_RUNNING) return;
  if (exact || flight.source != JOB_SOURCE_I915) {
    if (last->engine != flight.engine) last->engine = FREE;  // nobody takes the other engine's end for this one's
    last->end = now;
    last->engine = flight.engine;
  }
  if (outcome != JOB_COMPLETED || now < start) return;
  count_time(counters, &flight, JOB_RUN, JOB_RUN_NS, now - start);
}

static __always_inline void read_device(struct group_key* key, __u64 device) {
  if (device) bpf_probe_read_kernel_str(key->device, sizeof key->device, (void*)pointer_at(device, layout.device_name));
}

// drm_sched_job and drm_sched_job_queue: (struct drm_sched_job*, struct drm_sched_entity*)
SEC("raw_tp")
int scheduler_submitted(struct arguments* event) {
  struct counters* const counters = all_counters();
  if (!counters) return 0;
  const __u64 scheduler = pointer_at(event->at[0], layout.job_scheduler);
  const __u64 device = pointer_at(scheduler, layout.scheduler_device);
  char ring[4] = {};  // a shorter name matches none, whatever follows it
  bpf_probe_read_kernel(ring, sizeof ring, (void*)pointer_at(scheduler, layout.scheduler_name));
  const __u32 class = class_of_ring(ring);
  struct group_key key = {.kind = JOB_SOURCE_DRM_SCHED << JOB_KIND_SOURCE | class};
  read_device(&key, device);
  // xe names a queue, not an engine; of these classes it has one engine.
  const int one_engine = class == JOB_CLASS_RENDER || class == JOB_CLASS_COPY || class == JOB_CLASS_COMPUTE;
  submitted(counters, pointer_at(event->at[0], layout.job_fence), &key, one_engine ? device + 1 + class : scheduler);
  return 0;
}

// drm_run_job and drm_sched_job_run: the same
SEC("raw_tp")
int scheduler_handed_over(struct arguments* event) {
  struct counters* const counters = all_counters();
  const __u64 fence = pointer_at(event->at[0], layout.job_fence);
  struct flight* const flight = find(fence);
  if (flight) {
    if (!flight->handed_over) flight->handed_over = bpf_ktime_get_ns();
  } else if (counters) {
    add(counters, 0, JOB_LOST_UNMATCHED, 1);
  }
  return 0;
}

// drm_sched_process_job and drm_sched_job_done: (struct drm_sched_fence*)
SEC("raw_tp")
int scheduler_done(struct arguments* event) {
  struct counters* const counters = all_counters();
  if (!counters) return 0;
  const __u64 fence = event->at[0];
  struct flight* const flight = find(fence);
  if (!flight) {
    add(counters, 0, JOB_LOST_UNMATCHED, 1);
    return 0;
  }
  // Without a fence of the hardware nobody follows the job: a long-running VM, or run_job failed.
  const __u64 parent = pointer_at(fence, layout.fence_parent);
  __s32 finished_error = 0, error = 0;
  bpf_probe_read_kernel(&finished_error, sizeof finished_error,
                        (void*)(fence + layout.fence_finished + layout.dma_error));
  if (parent) bpf_probe_read_kernel(&error, sizeof error, (void*)(parent + layout.dma_error));
  // A job that had ended before the scheduler asked for its end is reported by the thread that asks.
  const int exact = !layout.preempt_count_known || in_interrupt();
  const __u32 outcome = error || finished_error ? JOB_ERROR
                        : !parent               ? JOB_LONG_RUNNING
                        : exact                 ? JOB_COMPLETED
                                                : JOB_BOUND;
  ended(counters, fence, flight, outcome, exact);
  return 0;
}

// i915_request_queue: (struct i915_request*, u32 flags)
SEC("raw_tp")
int request_submitted(struct arguments* event) {
  struct counters* const counters = all_counters();
  if (!counters) return 0;
  const __u64 engine = pointer_at(event->at[0], layout.request_engine);
  const __u64 i915 = pointer_at(engine, layout.engine_i915);
  __u16 class = 0;
  bpf_probe_read_kernel(&class, sizeof class, (void*)(engine + layout.engine_class));
  if (class > JOB_CLASS_OTHER) class = JOB_CLASS_OTHER;
  struct group_key key = {.kind = JOB_SOURCE_I915 << JOB_KIND_SOURCE | class};
  read_device(&key, pointer_at(i915, layout.i915_device));
  submitted(counters, event->at[0] + layout.request_fence, &key, engine);
  return 0;
}

// dma_fence_signaled: (struct dma_fence*), of every driver. i915 signals a fence for which nobody asked for an
// interrupt when it retires the request: the job ended then or earlier. Where the kernel does not say whether this is
// an interrupt, it is exact if somebody asked for one.
SEC("raw_tp")
int fence_signalled(struct arguments* event) {
  const __u64 fence = event->at[0];
  struct flight* const flight = find(fence);
  if (!flight || flight->source != JOB_SOURCE_I915) return 0;
  struct counters* const counters = all_counters();
  if (!counters) return 0;
  __s32 error = 0;
  bpf_probe_read_kernel(&error, sizeof error, (void*)(fence + layout.dma_error));
  const __u64 flags = pointer_at(fence, layout.dma_flags);
  const int exact = layout.preempt_count_known ? in_interrupt() : (int)(flags >> (layout.dma_signalling_bit & 63) & 1);
  ended(counters, fence, flight, error ? JOB_ERROR : exact ? JOB_COMPLETED : JOB_BOUND, exact);
  return 0;
}
