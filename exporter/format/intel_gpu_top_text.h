// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "format/intel_gpu_top_record.h"

namespace igpu::exporter {

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
