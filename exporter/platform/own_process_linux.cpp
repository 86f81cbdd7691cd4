// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <link.h>
#include <linux/capability.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include "platform/own_process.h"

namespace igpu::exporter {
namespace {

std::optional<std::uint64_t> soft_limit(__rlimit_resource_t resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

// Made by root only, as part of the container image.
constexpr const char* kTrustsCallers = "/usr/share/intel-gpu-exporter/callers-are-trusted";

struct OwnSets {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets{};

  OwnSets() {
    if (::syscall(SYS_capget, &header, sets.data()) != 0)
      throw std::system_error(errno, std::generic_category(), "capget");
  }
  // Returns what was effective before.
  std::uint64_t set_effective(std::uint64_t wanted) {
    const std::uint64_t before = sets[0].effective | std::uint64_t{sets[1].effective} << 32U;
    sets[0].effective = static_cast<std::uint32_t>(wanted);
    sets[1].effective = static_cast<std::uint32_t>(wanted >> 32U);
    if (before != wanted && ::syscall(SYS_capset, &header, sets.data()) != 0)
      throw std::system_error(errno, std::generic_category(), "capset");
    return before;
  }
};

std::optional<double> number(std::string_view text) {
  unsigned long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return static_cast<double>(value);
}

// Field 22 of /proc/self/stat, in clock ticks since boot; counted from the end of the command's name (field 2), which
// may hold spaces and parentheses.
std::optional<double> start_ticks(std::string_view stat) {
  std::size_t at = stat.rfind(')');
  for (int field = 3; field <= 22 && at != std::string_view::npos; ++field) at = stat.find(' ', at + 1);
  return at == std::string_view::npos ? std::nullopt : number(stat.substr(at + 1));
}

// Seconds since the epoch.
std::optional<double> boot_time() {
  constexpr std::string_view kKey = "btime ";
  std::ifstream stat("/proc/stat");
  for (std::string line; std::getline(stat, line);)
    if (line.starts_with(kKey)) return number(std::string_view(line).substr(kKey.size()));
  return std::nullopt;
}

std::optional<double> start_time() {
  std::ifstream stat("/proc/self/stat");
  const auto ticks = start_ticks(std::string(std::istreambuf_iterator<char>(stat), {}));
  const auto boot = boot_time();
  if (!ticks || !boot) return std::nullopt;
  return *boot + *ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::optional<double> open_descriptors() {
  // Since Linux 6.2 the directory's size is their number; earlier kernels report 0 and they must be listed.
  struct stat facts {};
  if (::stat("/proc/self/fd", &facts) == 0 && facts.st_size > 0) return static_cast<double>(facts.st_size);
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc/self/fd", error);
  double count = -1;  // without the directory's own descriptor
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) ++count;
  return error ? std::nullopt : std::optional(count);
}

std::optional<double> threads() {
  // The link count of a directory is 2 plus the number of its subdirectories, here one per thread.
  struct stat facts {};
  if (::stat("/proc/self/task", &facts) != 0 || facts.st_nlink <= 2) return std::nullopt;
  return static_cast<double>(facts.st_nlink - 2);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

std::optional<double> limit_of(__rlimit_resource_t resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return std::nullopt;
  return static_cast<double>(limit.rlim_cur);
}

// A segment that was never writable holds what its file holds, so that nothing is lost. Relocated constants (RELRO) are
// part of a writable segment.
int unmap_read_only_segments(dl_phdr_info* object, std::size_t, void*) {
  const bool is_program = *object->dlpi_name == '\0';
  if (is_program) return 0;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    const std::uintptr_t first = begin & ~(page - 1);
    // Fails for the kernel's own object (vDSO) and for locked memory, which stay.
    (void)::madvise(reinterpret_cast<void*>(first), begin + segment.p_memsz - first, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

std::optional<std::uint64_t> open_files_limit() { return soft_limit(RLIMIT_NOFILE); }
ProcessLimits process_limits() { return {soft_limit(RLIMIT_AS), soft_limit(RLIMIT_STACK)}; }

void raise_open_files_limit(std::uint64_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, wanted);
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

void reap_children() { (void)std::signal(SIGCHLD, SIG_IGN); }

void limit_allocator_arenas() {
#if defined(__GLIBC__)
  ::mallopt(M_ARENA_MAX, 2);
#endif
}

void return_freed_memory() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

std::string user_name() { return std::to_string(::geteuid()); }

std::string program_file() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : path.string();
}

std::string own_host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), 255) != 0 || name.front() == '\0') return "unknown";
  return name.data();
}

bool has_rights_of_its_file() {
  // Without capabilities of its file, another user's program has those that are ambient, from a service manager.
  static const bool has = [own = OwnSets()] {
    for (unsigned number = 0; number < 64 && ::getuid() != 0; ++number) {
      const bool permitted = (own.sets[number / 32].permitted >> (number % 32) & 1U) != 0;
      if (permitted && ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, number, 0, 0) != 1)
        return ::access(kTrustsCallers, F_OK) != 0;
    }
    return false;
  }();
  return has;
}

bool is_set_id() { return ::getuid() != ::geteuid() || ::getgid() != ::getegid(); }

CallersRights::CallersRights() {
  if (has_rights_of_its_file()) effective_ = OwnSets().set_effective(0);
}

CallersRights::~CallersRights() {
  if (effective_ != 0) (void)OwnSets().set_effective(effective_);
}

// Sources: once /proc/self/stat and /proc/stat; at each call /proc/self/statm, stat(2) of /proc/self/fd and
// /proc/self/task, getrlimit, getrusage. Not /proc/self/stat each time, as the kernel then visits all threads.
UsageReader::UsageReader() : started_(start_time()), memory_(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) {}

ProcessUsage UsageReader::read() const {
  ProcessUsage now;
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) now.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  now.open_files = open_descriptors();
  now.most_open_files = limit_of(RLIMIT_NOFILE);
  now.most_virtual_bytes = limit_of(RLIMIT_AS);
  now.threads = threads();

  std::array<char, 128> buffer{};
  const ssize_t size = memory_ ? ::pread(memory_.get(), buffer.data(), buffer.size(), 0) : 0;
  const std::string_view pages(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  const double page_size = static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (const auto total = number(pages)) now.virtual_bytes = *total * page_size;
  if (const std::size_t blank = pages.find(' '); blank != std::string_view::npos) {
    if (const auto resident = number(pages.substr(blank + 1))) now.resident_bytes = *resident * page_size;
  }
  return now;
}

void unmap_start_pages() { (void)::dl_iterate_phdr(unmap_read_only_segments, nullptr); }

Nanoseconds boottime_offset() {
  const auto read = [](clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
  };
  // It changes only while the machine sleeps; the rest is the time between the two calls.
  return std::chrono::round<std::chrono::milliseconds>(read(CLOCK_BOOTTIME) - read(CLOCK_MONOTONIC));
}

pid_t spawn(std::vector<std::string> command, char* const* environment, std::initializer_list<int> usual) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : usual) ::sigaddset(&signals, signal);
  ::posix_spawnattr_setsigdefault(&attributes, &signals);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, words[0], nullptr, &attributes, words.data(), environment);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) throw std::runtime_error(command[0] + ": " + std::generic_category().message(error));
  return child;
}

int wait_for_exit(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return exit_status(status);
}

int exit_status(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

}  // namespace igpu::exporter
