// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
//
// Which processes have a device of certain major numbers open, found inside the kernel. Runs on Linux 6.1 and newer;
// libbpf replaces the offsets of the fields below by those of the running kernel (CO-RE).
// clang-format off: the other headers need the types of this one
#include <linux/bpf.h>
// clang-format on
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define KERNEL_TYPE __attribute__((preserve_access_index))

struct inode {
  unsigned short i_mode;
  unsigned int i_rdev;
} KERNEL_TYPE;
struct file {
  struct inode* f_inode;
} KERNEL_TYPE;
struct signal_struct {
  struct {
    int counter;
  } live;  // threads that have not ended
} KERNEL_TYPE;
struct task_struct {
  int pid;
  int tgid;
  struct signal_struct* signal;
} KERNEL_TYPE;
struct seq_file;
struct bpf_iter_meta {
  struct seq_file* seq;
} KERNEL_TYPE;
struct bpf_iter__task_file {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
  unsigned int fd;
  struct file* file;
} KERNEL_TYPE;

char kLicense[] SEC("license") = "Dual BSD/GPL";

// Set before the programs are loaded.
const volatile struct {
  __u32 device_majors[2];
  __u32 own_process;  // that of the program that loads them; its own descriptors are not reported
} settings = {{226, 261}, 0};

struct lost_changes {
  __u64 count;            // changes that could not be kept: all processes must be listed again
  __u64 holders_missing;  // `holders` was full
  __u64 own_descriptors;  // got one of any kind: descriptor_installed() is called
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u32);
  __type(value, __u8);
} holders SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 64 * 1024);
} changed SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct lost_changes);
} lost SEC(".maps");

static int is_wanted(struct file* file) {
  struct inode* inode = file->f_inode;
  const __u32 major = inode->i_rdev >> 20;
  return (inode->i_mode & 0170000) == 0020000 &&
         (major == settings.device_majors[0] || major == settings.device_majors[1]);
}

static struct lost_changes* lost_changes(void) {
  const __u32 first = 0;
  return bpf_map_lookup_elem(&lost, &first);
}

static void remember(__u32 process) {
  const __u8 holds = 1;
  if (bpf_map_update_elem(&holders, &process, &holds, BPF_ANY) == 0) return;
  struct lost_changes* missed = lost_changes();
  if (missed) missed->holders_missing = 1;
}

static void report(__u32 process) {
  if (bpf_ringbuf_output(&changed, &process, sizeof process, 0) == 0) return;
  struct lost_changes* missed = lost_changes();
  if (missed) __sync_fetch_and_add(&missed->count, 1);
}

// Writes the PID of each process once for every descriptor of the device. Threads with a table of their own are left
// out: /proc/<pid>/fdinfo shows that of the first thread.
SEC("iter/task_file")
int list_holders(struct bpf_iter__task_file* context) {
  struct task_struct* task = context->task;
  struct file* file = context->file;
  if (!task || !file || task->pid != task->tgid || !is_wanted(file)) return 0;
  const __u32 process = task->tgid;
  remember(process);
  bpf_seq_write(context->meta->seq, &process, sizeof process);
  return 0;
}

// open, dup, SCM_RIGHTS, pidfd_getfd, io_uring and binder put a file into the table of the current process here. When
// this runs the file is in it: a listing that begins after the event shows it.
SEC("fexit/fd_install")
int BPF_PROG(descriptor_installed, unsigned int fd, struct file* file) {
  const __u32 process = bpf_get_current_pid_tgid() >> 32;
  if (process == settings.own_process) {
    struct lost_changes* counters = lost_changes();
    if (counters) counters->own_descriptors = 1;
    return 0;
  }
  if (!is_wanted(file)) return 0;
  remember(process);
  report(process);
  return 0;
}

// A new process has a copy of its parent's table, or shares it.
SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_forked, struct task_struct* parent, struct task_struct* child) {
  const __u32 old_process = parent->tgid;
  const __u32 new_process = child->tgid;
  if (old_process == new_process) return 0;  // a thread
  if (!bpf_map_lookup_elem(&holders, &old_process)) {
    struct lost_changes* missed = lost_changes();
    if (missed && missed->holders_missing) __sync_fetch_and_add(&missed->count, 1);
    return 0;
  }
  remember(new_process);
  report(new_process);
  return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(thread_ended, struct task_struct* task) {
  if (task->signal->live.counter != 0) return 0;
  const __u32 process = task->tgid;
  bpf_map_delete_elem(&holders, &process);
  return 0;
}
