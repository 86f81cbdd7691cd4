// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sandbox/layer.h"

// Linux capabilities of this process (capabilities(7)). They belong to threads: what is dropped here is dropped for the
// calling thread and those that it makes later, so this is called while it is the only one.
namespace igpu::exporter {

using CapabilitySet = std::uint64_t;  // bit N: capability number N of linux/capability.h

namespace capability {
inline constexpr int kDacReadSearch = 2;
inline constexpr int kSetpcap = 8;
inline constexpr int kSysPtrace = 19;
inline constexpr int kSysAdmin = 21;
inline constexpr int kPerfmon = 38;

constexpr CapabilitySet set(int number) { return CapabilitySet{1} << number; }
}  // namespace capability

std::string names_of(CapabilitySet set);  // "CAP_PERFMON CAP_SYS_PTRACE"; "none"

// What the program does that a capability may be needed for.
struct CapabilityUses {
  bool reads_kernel = true;  // this machine's GPUs and processes (not a simulated machine)
  bool reads_files = false;  // of the web configuration, again when they change: they may belong to another user
};

// Whether the kernel lets this thread count on a whole CPU; a trial with the effective set that is given.
using PerfTrial = std::function<bool(CapabilitySet effective)>;

// The capabilities worth keeping of those that are permitted.
//   CAP_PERFMON          perf events of the GPU, device memory in use
//   CAP_SYS_PTRACE       which process uses what: /proc/<pid>/fdinfo of other users
//   CAP_DAC_READ_SEARCH  /proc/<pid>/fd of other users, files of sysfs that are root's, keys that are another user's
//   CAP_SYS_ADMIN        only if perf events are refused without it: kernels before 5.8, and Debian's and Ubuntu's
//                        level of kernel.perf_event_paranoid above 2, which CAP_PERFMON does not pass
CapabilitySet capabilities_to_keep(CapabilitySet permitted, const CapabilityUses& uses, const PerfTrial& may_count);

struct ThreadCapabilities {
  CapabilitySet effective = 0, permitted = 0, inheritable = 0;
};
// Of the calling thread. Throws std::system_error.
ThreadCapabilities own_capabilities();

// capabilities_to_keep() for this process, tried out with perf_event_open(2).
CapabilitySet capabilities_to_keep(const CapabilityUses& uses);

// Leaves `keep` permitted and effective and takes everything else out of all five sets: bounding and ambient, too.
LayerOutcome drop_capabilities(CapabilitySet keep);
LayerOutcome kept(CapabilitySet keep);  // the same in words: CAP_SYS_ADMIN has a hint

// Of those that are kept, what the calling thread needs to read these files: CAP_DAC_READ_SEARCH, or nothing.
CapabilitySet capabilities_to_read(const std::vector<std::string>& files, CapabilitySet kept);
// Leaves the calling thread, and those that it makes later, these at most. False: the kernel refused, see errno.
bool limit_capabilities(CapabilitySet keep);

}  // namespace igpu::exporter
