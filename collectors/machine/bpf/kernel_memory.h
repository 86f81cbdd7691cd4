/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* What several BPF programs share. Included by BPF only, behind linux/bpf.h and bpf/bpf_helpers.h. */
#ifndef IGPU_KERNEL_MEMORY_H
#define IGPU_KERNEL_MEMORY_H

/* The arguments of a raw tracepoint, in the order of its TP_PROTO. */
struct arguments {
  __u64 at[4];
};

static __always_inline __u64 pointer_at(__u64 address, __u32 offset) {
  __u64 value = 0;
  bpf_probe_read_kernel(&value, sizeof value, (void*)(address + offset));
  return value;
}

#endif
