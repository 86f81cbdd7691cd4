// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

// What this process has from the operating system.
namespace igpu::exporter {

// The soft limits of this process; nullopt: there is none.
std::optional<std::uint64_t> open_files_limit();
std::optional<std::uint64_t> address_space_limit();  // bytes
std::optional<std::uint64_t> stack_limit();          // bytes of each thread

// Raises the limit of open files to this, or as far as this process may.
void raise_open_files_limit(std::uint64_t wanted);

// Processes that this one starts, and what a container leaves to it, need no wait() when they end.
void reap_children();

// Workers allocate little: an arena per thread would waste memory.
void limit_allocator_arenas();
void return_freed_memory();

std::string user_name();     // of this process, for a message about a file that it may not read
std::string program_file();  // "": unknown

}  // namespace igpu::exporter
