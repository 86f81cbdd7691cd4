/* SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause OR GPL-2.0-only */
/*
 * The memory that the BPF programs write when a queue of xe fails, and the exporter reads: a head, then a ring of
 * places. Included by C, C++ and BPF. fault_layout has the byte offsets of what the programs read, from the running
 * kernel's BTF.
 */
#ifndef IGPU_FAULT_SLOTS_H
#define IGPU_FAULT_SLOTS_H

/* NOLINTBEGIN(readability-identifier-naming): shared with C */
enum {
  FAULT_PLACES = 256,
  FAULT_PLACE_SLOTS = 8, /* 64 bits each */
  FAULT_SLOTS = (1 + FAULT_PLACES) * FAULT_PLACE_SLOTS,
  FAULT_NAME_SIZE = 16, /* with its terminating zero */

  /* of the head */
  FAULT_WRITTEN = 0, /* faults so far: the next one has this number */

  /* of place 1 + number % FAULT_PLACES */
  FAULT_SEQUENCE = 0, /* 1 + number; 0 while the place is written */
  FAULT_DEVICE = 1,   /* the device's name, two slots */
  FAULT_PROCESS = 3,  /* the name of the process that created the queue, two slots */
  FAULT_TIME = 5,     /* CLOCK_MONOTONIC, ns */
  FAULT_PID = 6,      /* 0: unknown */
  FAULT_WHAT = 7,     /* kind, class << 8, GT << 16, id of the queue << 32 */

  /* kinds */
  FAULT_JOB_TIMEOUT = 1,
  FAULT_CAT_ERROR = 2,
  FAULT_ENGINE_RESET = 3
};

struct fault_layout {
  /* struct xe_sched_job, xe_exec_queue, xe_guc_exec_queue */
  unsigned int job_queue, job_fence;
  unsigned int queue_class, queue_gt, queue_guc, queue_vm, guc_id;
  /* struct xe_gt, xe_tile, xe_device, xe_vm */
  unsigned int gt_id, gt_tile, tile_xe, xe_device, vm_file;
  /* vmlinux: struct device, dma_fence, task_struct */
  unsigned int device_name;
  unsigned int dma_flags, dma_signalled_bit;
  unsigned int task_leader, task_name;
};
/* NOLINTEND(readability-identifier-naming) */

#endif
