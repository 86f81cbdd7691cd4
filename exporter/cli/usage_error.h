// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace igpu::exporter {

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
