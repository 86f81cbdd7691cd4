// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/unique_fd.h"
#include "igpu/units.h"

namespace igpu::exporter {

// Limits, facts, rights and resources of this process.

// Soft limits; nullopt: unlimited.
std::optional<std::uint64_t> open_files_limit();
struct ProcessLimits {
  std::optional<std::uint64_t> address_space;  // bytes: ulimit -v
  std::optional<std::uint64_t> stack;          // bytes of each thread: ulimit -s
};
ProcessLimits process_limits();

// Raises the limit of open files to `wanted`, or as far as permitted.
void raise_open_files_limit(std::uint64_t wanted);

// Makes the kernel reap child processes, also orphans in a container, so that no wait() is needed.
void reap_children();

// Limits malloc's arenas: workers allocate little, so an arena per thread would waste memory.
void limit_allocator_arenas();
void return_freed_memory();

// Unmaps resident code and constants of libraries, to save memory. Pages that are still needed return from the page
// cache on use, within a fraction of a millisecond; pages that only the start used (relocations, loaders of BPF
// programs and of TLS) do not return. The program's own pages stay mapped: most of them would return, some only minutes
// later, which would look like a leak. Call when the start is complete.
void unmap_start_pages();

std::string user_name();     // of the user of this process, for messages about files it may not read
std::string program_file();  // "": unknown

// The name of this machine or container, as gethostname(2) has it; "unknown" if it has none.
std::string own_host_name();
Nanoseconds boottime_offset();  // CLOCK_BOOTTIME less CLOCK_MONOTONIC on it

// A program may have rights that its caller lacks: capabilities of its file (setcap), the user or group of a set-id
// file. It may use them for what it reads by itself; what the caller names is opened with the caller's rights.

// Whether the program's file has capabilities that its caller lacks. Not in the container image: whoever starts a
// container decides about its rights, too. Call it first while there is one thread.
bool has_rights_of_its_file();
bool is_set_id();

// While it lives, what this thread opens needs the caller's rights. Throws std::system_error.
class CallersRights {
 public:
  CallersRights();
  ~CallersRights();
  CallersRights(const CallersRights&) = delete;
  CallersRights& operator=(const CallersRights&) = delete;

 private:
  std::uint64_t effective_ = 0;  // to be restored
};

// Resources that this process uses. nullopt: the value cannot be read. Limits may be infinite.
struct ProcessUsage {
  std::optional<double> cpu_seconds;  // user and system
  std::optional<double> open_files, most_open_files;
  std::optional<double> virtual_bytes, most_virtual_bytes, resident_bytes;
  std::optional<double> threads;
};

class UsageReader {
 public:
  UsageReader();
  ProcessUsage read() const;
  // Seconds since the epoch; computed once, so that a clock step does not change it.
  std::optional<double> started() const { return started_; }

 private:
  std::optional<double> started_;
  UniqueFd memory_;  // Linux: /proc/self/statm
};

// Call first in main(). Opens standard descriptors that the parent has closed, so that no later file gets their numbers
// and, with them, log lines. Turns off the translation of line ends.
void prepare_standard_streams();

// Blocks until the text is written. False on failure.
bool write_to_stderr(std::string_view text);

// Width of the terminal on standard output. 0: it is none.
int terminal_columns();

// Selects the character set of the user's locale for what is printed to a terminal. True: it is UTF-8.
bool select_character_set();

// Starts a program as posix_spawnp(3) does. environment: ends with a null pointer. usual: signals that this process
// ignores or handles; they get their default action in the program. Throws std::runtime_error.
pid_t spawn(std::vector<std::string> command, char* const* environment, std::initializer_list<int> usual);

// Waits for the end of a child process; returns its exit_status().
int wait_for_exit(pid_t child);

// The exit status that a shell would report for a status of waitpid(2): 128 + N for signal N.
int exit_status(int status);

inline constexpr std::string_view kProgramName = "intel-gpu-exporter";

struct BuildInfo {
  std::string_view version;   // "0.1.0"
  std::string_view revision;  // of the sources; "unknown" without a repository
  std::string_view compiler;  // "gcc 12.2.0"
  bool has_bpf = false;
};
BuildInfo build_info();
std::string version_text();  // what --version prints

}  // namespace igpu::exporter
