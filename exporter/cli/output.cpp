// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>
#include <system_error>

#include "text/text.h"

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

int print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return EXIT_SUCCESS;
  const std::string why = std::generic_category().message(errno);
  std::fprintf(stderr, "%.*s: standard output cannot be written: %s\n", static_cast<int>(kProgramName.size()),
               kProgramName.data(), why.c_str());
  return EXIT_FAILURE;
}

int columns_of_output() {
  if (const int columns = terminal_columns(); columns > 0) return columns;
  const char* const given = std::getenv("COLUMNS");
  return given == nullptr ? kTextWidth : std::clamp(std::atoi(given), 20, 1000);
}

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
