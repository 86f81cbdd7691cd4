// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

#include "platform/process_usage.h"

namespace igpu::exporter {
namespace {

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

}  // namespace

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

}  // namespace igpu::exporter
