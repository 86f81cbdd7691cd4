// SPDX-License-Identifier: Apache-2.0
#include "platform/own_process.h"
#include "platform/windows_headers.h"

namespace igpu::exporter {

// Windows has no such limits for a process; a job may limit its memory, which is then an error of malloc().
std::optional<std::uint64_t> open_files_limit() { return std::nullopt; }
std::optional<std::uint64_t> address_space_limit() { return std::nullopt; }
std::optional<std::uint64_t> stack_limit() { return std::nullopt; }
void raise_open_files_limit(std::uint64_t /*wanted*/) {}
void reap_children() {}
void limit_allocator_arenas() {}
void return_freed_memory() {}

std::string user_name() {
  char name[257];
  DWORD size = sizeof name;
  return ::GetUserNameA(name, &size) && size > 0 ? std::string(name, size - 1) : "unknown";
}

std::string program_file() {
  std::string path(32'768, '\0');
  const DWORD size = ::GetModuleFileNameA(nullptr, path.data(), static_cast<DWORD>(path.size()));
  path.resize(size < path.size() ? size : 0);
  return path;
}

}  // namespace igpu::exporter
