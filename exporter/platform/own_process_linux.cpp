// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <system_error>

#include "platform/own_process.h"

namespace igpu::exporter {
namespace {

std::optional<std::uint64_t> soft_limit(__rlimit_resource_t resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

}  // namespace

std::optional<std::uint64_t> open_files_limit() { return soft_limit(RLIMIT_NOFILE); }
std::optional<std::uint64_t> address_space_limit() { return soft_limit(RLIMIT_AS); }
std::optional<std::uint64_t> stack_limit() { return soft_limit(RLIMIT_STACK); }

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

}  // namespace igpu::exporter
