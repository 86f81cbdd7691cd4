// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "server/sandbox/layer.h"

// Linux capabilities of this process (capabilities(7)). They belong to threads: dropping one affects the calling thread
// and those that it starts later, so call this while it is the only one.
namespace igpu::exporter {

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

}  // namespace igpu::exporter
