// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "view/format/intel_gpu_top_record.h"

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

// Records as `intel_gpu_top -l` (a table) and `-c` (CSV) print them. The columns are those of the first record that has
// the GPU: a value that is missing later is 0, and a record without the GPU has no line.
class IntelGpuTopText {
 public:
  enum class Form { table, csv };

  // repeats_header: prints the header again after every screen, as on a terminal.
  explicit IntelGpuTopText(Form form, bool repeats_header = false) : form_(form), repeats_header_(repeats_header) {}

  void write(const IntelGpuTopRecord& record, std::string& out);

 private:
  struct Column {
    std::string group, title;
    std::string_view item, name;
    int width, decimals;
    bool starts_group;  // the group's title is printed above this column
  };

  void choose_columns(const IntelGpuTopRecord& record);
  void write_header(std::string& out) const;

  Form form_;
  bool repeats_header_;
  std::vector<Column> columns_;
  unsigned rows_ = 0;  // since the header
};

}  // namespace igpu::exporter
