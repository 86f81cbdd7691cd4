// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "igpu/log.h"
#include "igpu/unique_fd.h"
#include "platform/sandbox_layers.h"
#include "server/sandbox/privileges.h"

namespace igpu::exporter {

// Landlock (Documentation/userspace-api/landlock.rst): the kernel denies access to every file outside the listed
// folders, for every user.

struct FileAccess {
  std::vector<std::string> readable{};         // folders with their content, or files; missing ones are skipped
  std::vector<std::string> listable{};         // folders that may be listed, with their subfolders
  std::vector<std::string> devices{};          // readable, with device ioctls
  std::vector<std::uint16_t> connect_ports{};  // TCP
  std::vector<std::string> writable{};         // folders in which files may be made, written, renamed and removed
};

// The kernel's interface version; 0 if Landlock is not available, with the reason in errno: ENOSYS (not built in),
// EOPNOTSUPP (not enabled).
int landlock_version();

// Restricts the calling thread, and those that it starts later, to reading the listed paths. They can write, create
// and remove nothing but files in the listed writable folders, and run nothing; from version 4 on they can neither bind
// nor, except to the listed ports, connect TCP, from 6 on not connect to other programs' abstract UNIX sockets.
// Requires no_new_privs. A restricted thread cannot inspect processes outside the restriction (the kernel's ptrace
// rule), so /proc/<pid>/fdinfo must be read by threads started before. held: receives descriptors of the paths below
// /proc, to be kept open. Rules apply to inodes, and the kernel drops unused inodes of /proc with their rules.
// /proc/self is the calling process.
LayerOutcome confine_files(const FileAccess& access, std::vector<UniqueFd>& held);

// The folders of a file: that of its path, and that of the file to which symbolic links lead.
std::vector<std::string> folders_of(const std::string& file);

// Limits the system calls of all threads from now on (seccomp(2)): reading, counting, and responding on open sockets.
// seccomp_filter.cpp has the list with the reasons. All others fail with EPERM and are recorded in the kernel's audit
// log if it is enabled; running a program kills the process. Requires no_new_privs.
// receivers: the sockets on which descriptors, perf events, arrive from another process of the exporter. No other one
// can receive descriptors.
LayerOutcome filter_calls_of_process(std::span<const int> receivers);

// The filter of the process that opens perf events: it talks over this socket, reads files and opens events, no more.
LayerOutcome filter_calls_of_event_opener(int socket);

// The filter of the process that talks to the receiver of a push: TCP, and reading files. It connects, and neither
// listens nor accepts.
LayerOutcome filter_calls_of_push_client();

// The filter of the process that resolves the receiver's name: UDP as well. asks_avahi: also UNIX sockets, over which
// names of mDNS are resolved.
LayerOutcome filter_calls_of_resolver(bool asks_avahi);

// The filter of the process that writes flights: it talks over this socket, and makes, renames and removes files
// relative to this folder. Of other files it opens none for writing.
LayerOutcome filter_calls_of_flight_writer(int socket, int folder);

// Limits the calling thread, and those that it starts later, further, for threads that talk to others: only collectors
// receive perf events and query GPUs. None of `receivers` can be closed or replaced by this thread. Call after
// filter_calls_of_process().
LayerOutcome filter_calls_of_clients(std::span<const int> receivers);

// The only ioctls of a render node that the filter allows: none submits work to the GPU. The first three are queries;
// the last waits for the caller's own work, of which there is none, and so tells whether the GPU is wedged. The numbers
// are written again here, so that a new query in the library (kernel/device/drm_uapi.h) does not widen the filter
// unnoticed; a test compares them.
inline constexpr unsigned long kI915Query = 0xc0106479;
inline constexpr unsigned long kI915Getparam = 0xc0106446;
inline constexpr unsigned long kXeDeviceQuery = 0xc0286440;
inline constexpr unsigned long kI915Throttle = 0x6458;

#ifdef IGPU_INSTRUMENTED
inline constexpr bool kInstrumented = true;
#else
inline constexpr bool kInstrumented = false;
#endif

// What must not run beside the server's keys is done by a process of its own, which ends with this one. All are started
// in one way: forked while this process has one thread and no secret, without its descriptors and environment, then
// as nobody, without capabilities, under Landlock and a filter of system calls of its own.
struct Helper {
  const char* name;  // as ps(1) shows it
  bool confined = true;
  bool as_nobody = false;           // where this process is root
  bool passes_descriptors = false;  // otherwise its socket receives none
  CapabilitySet keep = 0;
  CapabilitySet to_prepare = 0;  // as well
  FileAccess files;
  // Each gets its socket. What the first two throw ends the process.
  std::function<void(int socket)> begin = {};    // with the privileges of the start
  std::function<void(int socket)> prepare = {};  // without them, under Landlock
  std::function<LayerOutcome(int socket)> filter;
  std::function<void(int socket)> serve;  // until the other end of the socket is closed
};

// What the program does after the start, which determines what it must keep.
struct SandboxPlan {
  bool on = true;  // --no-sandbox
  CapabilityUses uses;
  FileAccess files;             // of all threads
  FileAccess client_files;      // of threads that serve clients, a subset
  FileAccess event_files;       // of the process that opens perf events
  FileAccess push_files{};      // of the processes that talk to receivers of pushes, without their ports
  FileAccess resolver_files{};  // of those that resolve the receivers' names
  // Whether collectors inspect other processes. Landlock forbids that, so the collectors' threads, which serve no
  // clients, are then not confined by it.
  bool reads_processes = true;
};

// Drops what the program no longer needs, step by step. All layers but core_dumps belong to threads and are inherited
// by threads started later, hence the order of the steps. After the last one there are two kinds of threads: those of
// the collectors, started in between, and those that serve clients, which have less: no capability, no perf events, no
// GPU, no folder of other processes. A process of its own opens perf events. No later step throws: an unavailable layer
// is reported, and the program continues without it. For operators: docs/sandbox.md.
class Sandbox {
 public:
  explicit Sandbox(SandboxPlan plan);

  // Files that any thread may read again, with their folders. Call before drop_privileges().
  void keep_readable(const std::vector<std::string>& files);

  void protect_memory();  // before secrets are read: no core dumps
  // Call before secrets are read, while no other thread exists. Forks a process that does nothing but what `open`
  // returns, with sysfs open and no path left that leads to a file: it opens perf events, with the only capabilities
  // for that, until the other end of its socket is closed. Returns this process' end, which stays open. Nothing: there
  // are no perf events to open, or the sandbox is off. Throws std::system_error.
  using OpenSysfs = std::function<std::function<void(int socket)>()>;
  std::optional<int> start_event_opener(const OpenSysfs& open);
  // Likewise: starts another helper, also with the sandbox off, which then does not confine it. Returns this process'
  // end of the socket.
  UniqueFd start(Helper helper) const;
  void drop_privileges();      // sockets are bound, no other thread exists: capabilities, no_new_privs
  void confine_clients();      // collectors' threads exist, threads that serve clients do not: Landlock, capabilities
  void filter_system_calls();  // before the first request: seccomp; then verifies all layers
  // Whether no thread can remove a file any more.
  bool keeps_files() const;

  const LayerOutcome& outcome(Layer layer) const { return outcomes_[static_cast<std::size_t>(layer)]; }
  const SandboxOutcomes& outcomes() const { return outcomes_; }
  const SandboxPlan& plan() const { return plan_; }

  // Logs one line with the layers that are on, and one for each missing layer, with its hint.
  void report(Log& log) const;

 private:
  void confine(const FileAccess& access);
  void limit_clients();
  void verify();
  LayerOutcome& at(Layer layer) { return outcomes_[static_cast<std::size_t>(layer)]; }

  SandboxPlan plan_;
  SandboxOutcomes outcomes_;
  std::vector<std::string> reread_;
  std::vector<UniqueFd> held_;  // for Landlock
  CapabilitySet kept_ = 0;
  CapabilitySet clients_keep_ = 0;
  CapabilitySet counting_ = 0;  // kept by the process that opens perf events
  std::vector<int> receivers_;  // the socket of the event opener
};

// The outcomes of this plan on this machine, tried in a child process. Call before any other thread exists.
SandboxOutcomes try_sandbox(const SandboxPlan& plan);

// Log lines about the sandbox that are the same on every system.

void report_off(Log& log);
std::string layers_on(const SandboxOutcomes& outcomes);  // "core_dumps,seccomp", or "nothing"
// Writes nothing if the layer is on. level: of a layer with a hint; others are logged as information.
void report_missing(Layer layer, const LayerOutcome& outcome, LogLevel level, Log& log);

}  // namespace igpu::exporter
