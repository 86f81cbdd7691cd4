// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "igpu/model.h"
#include "igpu/units.h"

namespace igpu::exporter {

// What intel_gpu_top prints for one GPU, before formatting: groups of values under the names, units and columns of the
// original. JSON, its text lines and its CSV are written from this.

// Selects one of the original's layouts.
struct IntelGpuTopLayout {
  bool physical = false;  // -p: engines instead of classes; frequency and RC6 of each GT if there are several
  bool older = false;     // igt up to 1.27: single engines, only the first GT, no memory of clients
};

struct IntelGpuTopRecord {
  struct Item {
    std::string_view name;    // in JSON
    std::string_view column;  // in text
    int width, decimals;      // in text
    std::optional<double> value;
  };
  struct Group {
    std::string name, title;  // in JSON, in text
    std::string_view unit;
    std::vector<Item> items;
  };
  struct Region {
    std::string_view name;
    std::array<double, 5> bytes{};  // by kMemoryStates
  };
  struct Client {
    std::uint32_t pid;
    std::string name;
    std::vector<Region> memory;
    std::optional<std::vector<std::pair<std::string_view, double>>> busy;  // percent of one engine, by class; from the
                                                                           // second reading of the client on
  };

  bool gpu_found = false;  // false: the record has only the period
  double period_ms = 0;
  std::vector<Group> groups;  // without the group "period"
  std::vector<Group> engines;
  std::optional<std::vector<Client>> clients;  // busiest first; nullopt: unknown
};

inline constexpr std::array<std::string_view, 5> kIntelGpuTopMemoryStates{"total", "shared", "resident", "purgeable",
                                                                          "active"};

// Makes records of successive readings.
//
// Missing values follow the original's rules: a group without any counter is omitted (power of a card, interrupts of
// xe), sema and wait of xe are 0, and a client has use from its second reading on. Engines are averaged by class. Under
// xe, frequencies are present values, because the driver has no mean. Engines that cannot be counted because no process
// that may be read uses them are 0. "imc-bandwidth" is present on more processors than the original knows.
class IntelGpuTopReader {
 public:
  explicit IntelGpuTopReader(std::string device, IntelGpuTopLayout layout = {})
      : device_(std::move(device)), layout_(layout) {}

  // The fields of the model that a record is made of.
  static std::span<const std::string_view> fields();

  // elapsed: as GaugeColumns::each.
  IntelGpuTopRecord read(const HostModel& host, Nanoseconds elapsed);

 private:
  using Group = IntelGpuTopRecord::Group;
  struct EngineName {
    std::optional<unsigned> gt;
    std::string name;
  };

  void add_interrupts(const GpuModel& gpu, std::vector<Group>& out);
  void add_traffic(const HostModel& host, std::vector<Group>& out);
  void add_engines(const GpuModel& gpu, std::vector<Group>& out);
  std::optional<std::vector<IntelGpuTopRecord::Client>> clients_of(const GpuModel& gpu);
  double rate(double& before, double now) const;
  std::string_view title_of(std::size_t engine_class) const;

  std::string device_;
  IntelGpuTopLayout layout_;
  double seconds_ = 0;  // of this reading
  double interrupts_ = 0;
  std::map<std::string, double> imc_bytes_;                                 // by direction
  std::map<std::pair<std::uint32_t, std::size_t>, double> client_seconds_;  // by PID and class, of the last reading
  // Classes and GTs seen so far: they keep their places in all later records.
  std::set<unsigned> gts_;
  std::array<std::vector<EngineName>, kEngineClasses> engines_;  // with counters of their own
  std::array<bool, kEngineClasses> classes_{};
};

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
