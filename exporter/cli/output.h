// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include "platform/own_process.h"

namespace igpu::exporter {

// Writes to standard output and flushes it. Returns the exit status: 0, or 1 if writing failed, after a line on
// standard error that says why.
int print(std::string_view text);

// How wide it is: the terminal's width, or that of COLUMNS, or 80.
int columns_of_output();

// The error's message; if memory or threads were exhausted, also which of them, the limit that applies, and a hint.
std::string explained(const std::exception& error, const ProcessLimits& limits);

// Exit status if an argument is invalid: it differs from that of a failure, or of nothing to show (1).
inline constexpr int kUsageStatus = 2;

// Invalid arguments, or, with EXIT_FAILURE, what they name; what() is the one line to print.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& what, int status = kUsageStatus) : std::runtime_error(what), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

}  // namespace igpu::exporter
