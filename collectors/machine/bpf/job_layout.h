/* SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause OR GPL-2.0-only */
/* Byte offsets of what the programs read in the running kernel's structures, from its BTF. */
#ifndef IGPU_JOB_LAYOUT_H
#define IGPU_JOB_LAYOUT_H

/* Stands for the kernel's variable with the preemption count, until the loader puts the number of its type there. */
#define JOB_PREEMPT_VARIABLE 0x70726565

struct job_layout { /* NOLINT(readability-identifier-naming): shared with C */
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

#endif
