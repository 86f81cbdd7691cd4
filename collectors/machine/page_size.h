// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "machine/machine.h"

namespace igpu {

inline constexpr std::uint64_t kUsualPageSize = 4096;

// The machine's page size in bytes: the unit of resident memory in /proc/<pid>/stat
// (fs/proc/array.c, do_task_stat). x86 has 4096, kernels for arm64 also 16384 and 65536.
class PageSize {
 public:
  virtual ~PageSize() = default;
  virtual std::uint64_t page_size() const = 0;
};

// A machine that is not a real one has the usual size, unless it was captured with another.
inline std::uint64_t page_size(const Machine& machine) {
  const auto* const known = dynamic_cast<const PageSize*>(&machine.privileges);
  return known != nullptr ? known->page_size() : kUsualPageSize;
}

}  // namespace igpu
