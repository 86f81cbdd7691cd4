// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/sandbox_layers.h"

namespace igpu::exporter {

// PR_SET_DUMPABLE 0 for the whole process: no core dump is written or piped to a handler, and users without
// CAP_SYS_PTRACE cannot read its memory. A core size limit of 0 is not enough: it does not apply to core_pattern pipes.
// The process itself can still read /proc/self.
LayerOutcome forbid_core_dumps();

// no_new_privs for the calling thread and those that it starts later: running a program never adds privileges.
LayerOutcome forbid_new_privileges();

// Where the calling thread, the only one, is root: it becomes the user that owns nothing, because root without any
// capability still owns root's files and sockets. Call before the capabilities are dropped. Not where it lacks
// CAP_SETUID and CAP_SETGID, as in some containers.
void become_nobody();

// Overwrites the environment of the process, which may hold passwords (http_proxy), but for settings of the resolver.
void wipe_environment();

// Makes an empty folder of sysfs the root of the process: no path leads to a file any more. What is open stays open,
// with what is below it. False: CAP_SYS_CHROOT is missing, or that is not sysfs.
bool leave_files(const std::string& sysfs);

// Linux capabilities of this process (capabilities(7)). They belong to threads: dropping one affects the calling thread
// and those that it starts later, so call this while it is the only one.

using CapabilitySet = std::uint64_t;  // bit N: capability number N of linux/capability.h

namespace capability {
inline constexpr int kDacReadSearch = 2;
inline constexpr int kSetgid = 6;
inline constexpr int kSetuid = 7;
inline constexpr int kSetpcap = 8;
inline constexpr int kSysChroot = 18;
inline constexpr int kSysPtrace = 19;
inline constexpr int kSysAdmin = 21;
inline constexpr int kPerfmon = 38;

constexpr CapabilitySet set(int number) { return CapabilitySet{1} << number; }
}  // namespace capability

std::string names_of(CapabilitySet set);  // "CAP_PERFMON CAP_SYS_PTRACE"; "none"

// Activities of the program that may need a capability.
struct CapabilityUses {
  bool reads_kernel = true;  // this machine's GPUs and processes (not a simulated machine)
  bool reads_files = false;  // that the user names, and that may belong to another user
};

// Whether the kernel allows this thread to count events of a whole CPU with the given effective set.
using PerfTrial = std::function<bool(CapabilitySet effective)>;

// The capabilities worth keeping of those that are permitted.
//   CAP_PERFMON          perf events of the GPU, card memory in use
//   CAP_SYS_PTRACE       which process uses what: /proc/<pid>/fdinfo of other users
//   CAP_DAC_READ_SEARCH  /proc/<pid>/fd of other users, sysfs files of root, keys of another user
CapabilitySet capabilities_to_keep(CapabilitySet permitted, const CapabilityUses& uses);

// What the process that opens perf events keeps.
//   CAP_PERFMON          perf events
//   CAP_SYS_ADMIN        only if they are denied without it: kernels before 5.8, and Debian's and Ubuntu's
//                        kernel.perf_event_paranoid above 2, for which CAP_PERFMON is not enough
CapabilitySet capabilities_to_count(CapabilitySet permitted, const PerfTrial& may_count);

struct ThreadCapabilities {
  CapabilitySet effective = 0, permitted = 0, inheritable = 0;
};
// Of the calling thread. Throws std::system_error.
ThreadCapabilities own_capabilities();

// The same for this process. The second tries perf_event_open(2).
CapabilitySet capabilities_to_keep(const CapabilityUses& uses);
CapabilitySet capabilities_to_count();

// Makes all that is permitted effective. The file of the container image has its capabilities permitted only.
void raise_capabilities();

// Sets permitted and effective to `keep`, and removes everything else from all five sets (with bounding and ambient).
LayerOutcome drop_capabilities(CapabilitySet keep);
LayerOutcome kept(CapabilitySet keep);  // its outcome
// Adds to the outcome what the process that opens perf events keeps in addition; CAP_SYS_ADMIN comes with a hint.
void add_counting(CapabilitySet counting, LayerOutcome& outcome);

// Which of the kept capabilities the calling thread needs to read these files: CAP_DAC_READ_SEARCH or nothing.
CapabilitySet capabilities_to_read(const std::vector<std::string>& files, CapabilitySet kept);
// Limits the calling thread, and those that it starts later, to these. False: denied by the kernel, see errno.
bool limit_capabilities(CapabilitySet keep);

// Privileges of one thread, from /proc/<pid>/task/<tid>/status.
struct ThreadStatus {
  CapabilitySet inheritable = 0, permitted = 0, effective = 0, bounding = 0, ambient = 0;
  bool no_new_privs = false;
  int seccomp = 0;  // 0 none, 1 strict, 2 filter
};

// Empty if a line is missing.
std::optional<ThreadStatus> parse_thread_status(std::string_view text);

// All threads of this process; empty if /proc cannot be read.
std::vector<ThreadStatus> own_threads();

}  // namespace igpu::exporter
