// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <limits>
#include <string>

namespace igpu::exporter {

struct ProcessLimits {
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t address_space = kNone;  // bytes: ulimit -v
  std::uint64_t stack = kNone;          // bytes of each thread: ulimit -s
};

ProcessLimits process_limits();

// The error's message; if memory or threads were exhausted, also which of them, the limit that applies, and a hint.
std::string explained(const std::exception& error, const ProcessLimits& limits);

}  // namespace igpu::exporter
