/* SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause OR GPL-2.0-only */
/*
 * The memory that the BPF programs write and the exporter reads: 64 groups of 64 counters. Included by C, C++ and BPF.
 * Group 0 is about all of them; every other group belongs to a device, a class of engines and a source of jobs.
 *
 * Jobs are also counted by process, in 1,024 more groups: group 0 is about those, every other one belongs to a device,
 * a class, a source and the process that submitted the jobs. Without job_layout::all_classes there are groups of the
 * video class only, and they have no times. The exporter frees the groups of processes that have ended; it is the only
 * one that adds to the list of free groups, and the programs are the only ones that take from it.
 */
#ifndef IGPU_JOB_SLOTS_H
#define IGPU_JOB_SLOTS_H

/* NOLINTBEGIN(readability-identifier-naming): shared with C */
enum {
  JOB_GROUPS = 64,
  JOB_GROUP_SLOTS = 64,
  JOB_SLOTS = JOB_GROUPS * JOB_GROUP_SLOTS,
  JOB_DEVICE_SIZE = 16, /* with its terminating zero */
  JOB_BUCKETS = 22,     /* up to 2^(4 + i) us; the last one all longer times */

  /* of group 0 */
  JOB_GROUPS_USED = 0, /* beside group 0; may exceed what there is room for */
  JOB_LOST_UNMATCHED = 1,
  JOB_LOST_TABLE_FULL = 2,

  /* of every other group */
  JOB_DEVICE = 0,  /* the device's name, two slots */
  JOB_KIND = 2,    /* JOB_KIND_KNOWN, source, class; written last */
  JOB_OUTCOME = 3, /* one counter for each outcome */
  JOB_QUEUE_NS = 8,
  JOB_RUN_NS = 9,
  JOB_QUEUE = 10, /* JOB_BUCKETS counters, not cumulative */
  JOB_RUN = 32,

  /* also of a process's group */
  JOB_SUBMITTED = 54,  /* jobs; those that are not in JOB_OUTCOME are in flight */
  JOB_PROCESS = 55,    /* PID; 0: jobs of processes for which there was no group */
  JOB_BORN = 56,       /* when that process began, in ns since the machine booted */
  JOB_FREE_GROUP = 57, /* of group i: entry i of the list of free groups */

  /* of group 0 of the processes' groups */
  JOB_PROCESS_GROUPS_USED = 0, /* the highest one ever used */
  JOB_FREE_TAKEN = 1,          /* entries of the list so far */
  JOB_FREE_ADDED = 2,

  JOB_PROCESS_GROUPS = 1024,
  JOB_PROCESS_SLOTS = JOB_PROCESS_GROUPS * JOB_GROUP_SLOTS,
  JOB_PROCESS_GROUPS_RESERVED = 64, /* for JOB_PROCESS 0 */

  JOB_KIND_KNOWN = 1 << 16,
  JOB_KIND_ABANDONED = 1 << 17, /* never used: another processor made a group for the same process */
  JOB_KIND_SOURCE = 8,          /* bits to the left of the class */

  /* numbers of igpu/job.h */
  JOB_SOURCE_DRM_SCHED = 0,
  JOB_SOURCE_I915 = 1,
  JOB_CLASS_RENDER = 0,
  JOB_CLASS_COPY = 1,
  JOB_CLASS_VIDEO = 2,
  JOB_CLASS_VIDEO_ENHANCE = 3,
  JOB_CLASS_COMPUTE = 4,
  JOB_CLASS_OTHER = 5,
  JOB_COMPLETED = 0,
  JOB_BOUND = 1,
  JOB_LONG_RUNNING = 2,
  JOB_ERROR = 3,
  JOB_EVICTED = 4,
  JOB_OUTCOMES = 5
};

/* Stands for the kernel's variable with the preemption count, until the loader puts the number of its type there. */
#define JOB_PREEMPT_VARIABLE 0x70726565

/* Byte offsets of what the programs read in the running kernel's structures, from its BTF. */
struct job_layout {
  /* struct drm_sched_job, drm_sched_fence and drm_gpu_scheduler */
  unsigned int job_fence, job_scheduler;
  unsigned int fence_finished, fence_parent;
  unsigned int scheduler_name, scheduler_device;
  /* struct i915_request and intel_engine_cs, drm_i915_private */
  unsigned int request_fence, request_engine;
  unsigned int engine_class, engine_i915, i915_device;
  /* vmlinux: struct device, dma_fence */
  unsigned int device_name;
  unsigned int dma_error, dma_flags, dma_signalling_bit;
  /* where the kernel counts that a processor is in an interrupt: in this variable of each processor, if it is known */
  unsigned int preempt_count_known;
  unsigned int preempt_count;
  /* of the processes' groups: struct task_struct */
  unsigned int all_classes; /* 0: jobs of processes are counted in the video class only, and without their times */
  unsigned int task_leader, task_born;
};
/* NOLINTEND(readability-identifier-naming) */

#endif
