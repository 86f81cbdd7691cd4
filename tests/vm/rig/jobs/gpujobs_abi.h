/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* What a guest program may ask of /dev/gpujobs. */
#ifndef GPUJOBS_ABI_H
#define GPUJOBS_ABI_H
#include <linux/ioctl.h>
#include <linux/types.h>

struct gpujobs_submit {
  __u32 engine;      /* index into the engine list */
  __u32 context;     /* 0..15, per open file */
  __u64 exec_ns;     /* how long the engine works on it */
  __u32 flags;       /* GPUJOBS_* */
  __u32 dep_engine;  /* with GPUJOBS_DEP: wait for the last job of */
  __u32 dep_context; /* this queue of the same open file */
  __u32 pad;
  __u64 tag;           /* the caller's own number, goes into the truth log */
  __u64 fence_context; /* out: what the tracepoints call the job */
  __u64 fence_seqno;   /* out */
};
#define GPUJOBS_DEP 1
#define GPUJOBS_HANG 2   /* never ends by itself; reset after 300 ms, error -ECANCELED */
#define GPUJOBS_CAT 8    /* xe, with GPUJOBS_HANG: after access to memory that is not there */
#define GPUJOBS_SIGNAL 4 /* i915: ask for the interrupt now, as a sync file would */

struct gpujobs_wait {
  __u64 fence_context;
  __u64 fence_seqno;
  __u64 timeout_ns;
};

#define GPUJOBS_IOC_SUBMIT _IOWR('J', 1, struct gpujobs_submit)
#define GPUJOBS_IOC_WAIT _IOW('J', 2, struct gpujobs_wait)
#endif
