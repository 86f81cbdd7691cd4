// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace igpu::exporter {

// Invalid arguments or configuration; what() is the one line to print.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace igpu::exporter
