// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

// Limits and facts of this process.
namespace igpu::exporter {

// Soft limits; nullopt: unlimited.
std::optional<std::uint64_t> open_files_limit();
std::optional<std::uint64_t> address_space_limit();  // bytes
std::optional<std::uint64_t> stack_limit();          // bytes of each thread

// Raises the limit of open files to `wanted`, or as far as permitted.
void raise_open_files_limit(std::uint64_t wanted);

// Makes the kernel reap child processes, also orphans in a container, so that no wait() is needed.
void reap_children();

// Limits malloc's arenas: workers allocate little, so an arena per thread would waste memory.
void limit_allocator_arenas();
void return_freed_memory();

std::string user_name();     // of the user of this process, for messages about files it may not read
std::string program_file();  // "": unknown

// The name of this machine or container, as gethostname(2) has it; "unknown" if it has none.
std::string own_host_name();

}  // namespace igpu::exporter
