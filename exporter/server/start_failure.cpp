// SPDX-License-Identifier: Apache-2.0
#include "server/start_failure.h"

#include <new>
#include <system_error>

namespace igpu::exporter {
namespace {

std::string kibibytes(std::uint64_t bytes) { return std::to_string(bytes / 1024) + " KiB"; }

std::string hint(const ProcessLimits& limits) {
  if (!limits.address_space)
    return "raise the limit on memory (MemoryMax=, the container's) or on threads (TasksMax=, pids.max, ulimit -u)";
  std::string text = "address space is limited to " + kibibytes(*limits.address_space) + " (ulimit -v, LimitAS=)";
  if (limits.stack) text += ", of which each thread's stack takes " + kibibytes(*limits.stack);
  return text + ": raise that limit";
}

}  // namespace

std::string explained(const std::exception& error, const ProcessLimits& limits) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "not enough memory; " + hint(limits);
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  const bool exhausted = system != nullptr && (system->code() == std::errc::resource_unavailable_try_again ||
                                               system->code() == std::errc::not_enough_memory);
  if (!exhausted) return error.what();
  // std::thread's message is only the text of the errno.
  const bool bare = system->code().message() == error.what();
  return (bare ? "a thread cannot be started: " : "") + std::string(error.what()) + "; " + hint(limits);
}

}  // namespace igpu::exporter
