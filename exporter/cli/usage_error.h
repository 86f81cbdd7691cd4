// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace igpu::exporter {

// Something the user wrote cannot be understood; what() is the one line to show.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace igpu::exporter
