// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "format/intel_gpu_top_record.h"

namespace igpu::exporter {

// Records as `intel_gpu_top -J` prints them: the same keys in the same order, units, indentation and numbers with six
// decimals. A member that a group lacks is 0.000000. As in the original, a record's last line ends when the next record
// begins.
class IntelGpuTopJson {
 public:
  // in_array: the records form an array, which finish() closes, as from igt 1.28 on.
  explicit IntelGpuTopJson(bool in_array = true) : in_array_(in_array) {}

  void write(const IntelGpuTopRecord& record, std::string& out);
  void finish(std::string& out);

  static constexpr std::string_view kOpen = "[\n", kClose = "]\n";

 private:
  bool in_array_;
  bool started_ = false;
};

}  // namespace igpu::exporter
