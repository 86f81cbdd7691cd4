// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "level_zero/tracker/api_table.h"
#include "level_zero/tracker/live_table.h"
#include "level_zero/tracker/own_process.h"
#include "level_zero/tracker/shared_word.h"

namespace igpu::level_zero {

unsigned logging;

namespace {

constexpr char kColumns[] =
    "CallNumber,TimeMs,APICall,VmSize_KB,VmRSS_KB,VmData_KB,VmPeak_KB,Threads,Delta_VmSize_KB,Delta_VmRSS_KB,"
    "Delta_VmData_KB,Contexts,CommandQueues,Modules,Kernels,EventPools,CommandLists,Events,Fences,Images,Samplers,"
    "TotalMemory_Bytes\n";

bool is_on(const char* value) { return value != nullptr && value[0] != '\0' && strcmp(value, "0") != 0; }

// FILE.csv becomes FILE_pid42.csv.
bool own_path(const char* path, char (&own)[PATH_MAX]) {
  const char* slash = strrchr(path, '/');
  const char* dot = strrchr(path, '.');
  if (dot == nullptr || (slash != nullptr && dot < slash)) dot = path + strlen(path);
  const int length =
      snprintf(own, sizeof own, "%.*s_pid%ld%s", static_cast<int>(dot - path), path, static_cast<long>(getpid()), dot);
  return length > 0 && length < static_cast<int>(sizeof own);
}

bool open_own(AppendFile& file, const char* path) {
  char own[PATH_MAX];
  return path != nullptr && path[0] != '\0' && own_path(path, own) && file.open(own);
}

// The real System Resource Tracker, when it is switched on, writes the file that this variable names.
const char* csv_of_known_tool() {
  return is_on(getenv("ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER")) ? nullptr
                                                                     : secure_getenv("ZEL_SYSTEM_RESOURCE_TRACKER_CSV");
}

// The text of a file in /proc of this process; "" if it cannot be read. Keeps errno.
const char* read_again(int fd, char* text, std::size_t size) {
  const int error = errno;
  const ssize_t count = fd < 0 ? -1 : pread(fd, text, size - 1, 0);
  text[count < 0 ? 0 : count] = '\0';
  errno = error;
  return text;
}

std::uint64_t next_number(const char*& text) {
  while (*text != '\0' && (*text < '0' || *text > '9')) ++text;
  std::uint64_t number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) number = number * 10 + static_cast<std::uint64_t>(*text - '0');
  return number;
}

// Fields are asked for in the order of the file, so that it is searched once.
std::uint64_t field(const char*& status, const char* name) {
  const char* at = strstr(status, name);
  if (at == nullptr) return 0;
  status = at + strlen(name);
  return next_number(status);
}

}  // namespace

bool AppendFile::open(const char* path) {
  const int opened = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640);
  fd_ = high_descriptor(opened);
  struct stat status = {};
  rlimit limit = {};
  if (fd_ < 0 || fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode) || getrlimit(RLIMIT_FSIZE, &limit) != 0) {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
    return false;
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
  limit_ = limit.rlim_cur;
  return true;
}

// A program may have closed all descriptors, and its own file may have this number by now. Beyond the limit of file
// sizes the kernel would kill the program.
void AppendFile::append(const void* record, std::uint64_t size) {
  struct stat status = {};
  if (fstat(fd_, &status) != 0 || status.st_dev != device_ || status.st_ino != inode_) return;
  if (static_cast<std::uint64_t>(status.st_size) + size > limit_) return;
  while (write(fd_, record, size) < 0 && errno == EINTR) {
  }
}

void EventLog::begin(const LogHeader& header) {
  const int error = errno;
  const char* given = secure_getenv("INTEL_GPU_LEVEL_ZERO_CSV");
  const bool compact = open_own(compact_, secure_getenv("INTEL_GPU_LEVEL_ZERO_LOG"));
  const bool csv = open_own(csv_, given != nullptr ? given : csv_of_known_tool());
  with_memory_ = csv || is_on(secure_getenv("INTEL_GPU_LEVEL_ZERO_LOG_MEMORY"));
  page_kb_ = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 1024;
  if ((compact || csv) && with_memory_) {
    status_ = high_descriptor(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
    statm_ = high_descriptor(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  }
  if (compact) {
    LogHeader first = header;
    first.magic = kLogMagic;
    first.version = kLogVersion;
    first.event_bytes = sizeof(LogEvent) + (with_memory_ ? sizeof(LogMemory) : 0);
    compact_.append(&first, sizeof first);
  }
  if (csv) csv_.append(kColumns, sizeof kColumns - 1);
  if (compact || csv) store(logging, 1u);
  errno = error;
}

ProcessMemory EventLog::memory_before() const {
  char text[160];
  const char* at = read_again(statm_, text, sizeof text);
  ProcessMemory memory = {};
  memory.size = next_number(at) * page_kb_;
  memory.resident = next_number(at) * page_kb_;
  for (int skipped = 0; skipped < 3; ++skipped) next_number(at);  // shared, text, library
  memory.data = next_number(at) * page_kb_;
  return memory;
}

ProcessMemory EventLog::memory_after() const {
  char text[2048];
  const char* at = read_again(status_, text, sizeof text);
  ProcessMemory memory = {};
  memory.peak = field(at, "\nVmPeak:");
  memory.size = field(at, "\nVmSize:");
  memory.resident = field(at, "\nVmRSS:");
  memory.data = field(at, "\nVmData:");
  memory.stack = field(at, "\nVmStk:");
  memory.threads = field(at, "\nThreads:");
  return memory;
}

void EventLog::append(const LogEvent& event, const ProcessMemory& before, const ProcessMemory& after) {
  const int error = errno;
  struct {
    LogEvent event;
    LogMemory memory;
  } record = {event, {}};
  const auto change = [](std::uint64_t from, std::uint64_t to) { return static_cast<std::int64_t>(to - from); };
  record.memory = {after.size,
                   after.resident,
                   after.data,
                   after.peak,
                   change(before.size, after.size),
                   change(before.resident, after.resident),
                   change(before.data, after.data + after.stack),
                   after.threads};
  if (compact_.is_open()) compact_.append(&record, with_memory_ ? sizeof record : sizeof record.event);
  if (csv_.is_open()) append_line(event, record.memory);
  errno = error;
}

void EventLog::append_line(const LogEvent& event, const LogMemory& memory) {
  using Long = unsigned long long;
  char line[640];
  const std::uint32_t* c = event.counts;
  const int length = snprintf(
      line, sizeof line, "%llu,%llu,%s,%llu,%llu,%llu,%llu,%llu,%lld,%lld,%lld,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%llu\n",
      static_cast<Long>(add(lines_, std::uint64_t{1})), static_cast<Long>(event.since_start_ns / 1000000),
      kFunctionNames[event.function], static_cast<Long>(memory.size), static_cast<Long>(memory.resident),
      static_cast<Long>(memory.data), static_cast<Long>(memory.peak), static_cast<Long>(memory.threads),
      static_cast<long long>(memory.size_change), static_cast<long long>(memory.resident_change),
      static_cast<long long>(memory.data_change), c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9],
      static_cast<Long>(event.total_bytes));
  if (length > 0 && length < static_cast<int>(sizeof line)) csv_.append(line, static_cast<std::uint64_t>(length));
}

}  // namespace igpu::level_zero
