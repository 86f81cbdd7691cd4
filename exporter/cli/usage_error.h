// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace igpu::exporter {

// Exit status of commands for scripts if an argument is invalid: it differs from that of a failure (1). The older
// commands exit with 1 for both.
inline constexpr int kUsageStatus = 2;

// Invalid arguments or configuration; what() is the one line to print.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& what, int status = EXIT_FAILURE) : std::runtime_error(what), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

}  // namespace igpu::exporter
