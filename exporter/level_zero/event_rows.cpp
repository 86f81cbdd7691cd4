// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>

#include "igpu/level_zero.h"
#include "level_zero/report.h"
#include "text/text.h"

namespace igpu::exporter {
namespace {

// Of a kind of resource: what the known tool calls it, and its column; memory is in none.
struct KnownKind {
  std::string_view kind, name;
  std::size_t column;
};
constexpr std::array<KnownKind, 14> kKnownKinds = {{{"context", "Context", 0},
                                                    {"command_queue", "CommandQueue", 1},
                                                    {"module", "Module", 2},
                                                    {"kernel", "Kernel", 3},
                                                    {"event_pool", "EventPool", 4},
                                                    {"command_list", "CommandList", 5},
                                                    {"command_list_immediate", "CommandList", 5},
                                                    {"event", "Event", 6},
                                                    {"fence", "Fence", 7},
                                                    {"image", "Image", 8},
                                                    {"sampler", "Sampler", 9},
                                                    {"memory_device", "Memory", kResourceColumns},
                                                    {"memory_host", "Memory", kResourceColumns},
                                                    {"memory_shared", "Memory", kResourceColumns}}};
constexpr std::size_t kMostLive = std::size_t{1} << 20;  // as many as the tracker has entries for

const KnownKind* known_kind(std::string_view kind) {
  const auto* const found =
      std::ranges::find_if(kKnownKinds, [&](const KnownKind& known) { return known.kind == kind; });
  return found == kKnownKinds.end() ? nullptr : found;
}

std::string signed_kb(std::int64_t value) { return (value < 0 ? "" : "+") + std::to_string(value) + "KB"; }

std::string hexadecimal(std::uint64_t value) { return formatted("%#llx", static_cast<unsigned long long>(value)); }

class CallLines {
 public:
  CallLines(std::ostream& out, bool with_memory) : out_(out), with_memory_(with_memory) {}

  void add(const LevelZeroEvent& event) {
    const KnownKind* const kind = known_kind(event.kind);
    line_ = stamp(event) + std::string(event.function) + ':';
    if (kind != nullptr && kind->column < kResourceColumns)
      line_ += ' ' + std::string(kind->name) + " Count=" + std::to_string(event.counts[kind->column]) + ',';
    line_ += " handle=" + hexadecimal(event.handle);
    if (event.result != 0) line_ += ", result=" + hexadecimal(event.result);
    if (with_memory_)
      line_ += ", Delta: VmRSS=" + signed_kb(event.resident_change) + ", VmSize=" + signed_kb(event.size_change) +
               ", VmData=" + signed_kb(event.data_change);
    out_ << line_ << totals(event) << '\n';
    if (with_memory_ && kind != nullptr && event.result == 0) compare(event, *kind);
  }

  void finish() {
    if (!with_memory_) return;
    out_ << "\nresident memory that was larger after a destroy than after the create, in kB; the System Resource "
            "Tracker "
            "takes it for leaks:\n";
    std::int64_t total = 0;
    for (const auto& [name, grown] : grown_) {
      out_ << "  " << name << ": " << grown << '\n';
      total += grown;
    }
    out_ << "  all: " << total << "\n\n";
  }

 private:
  static std::string stamp(const LevelZeroEvent& event) {
    return formatted("%.6f s thread %u ", static_cast<double>(event.since_start_ns) / 1e9, event.thread);
  }

  static std::string totals(const LevelZeroEvent& event) {
    std::string text = "; live:";
    for (std::size_t i = 0; i < kResourceColumns; ++i)
      if (event.counts[i] != 0)
        text += ' ' + std::string(kResourceColumnNames[i]) + '=' + std::to_string(event.counts[i]);
    return text + " Memory=" + std::to_string(event.total_bytes) + "B";
  }

  void compare(const LevelZeroEvent& event, const KnownKind& kind) {
    const std::pair key(kind.name, event.handle);
    if (!event.destroys) {
      if (created_.size() < kMostLive) created_[key] = {event.vm_resident, event.vm_size};
      return;
    }
    const auto created = created_.find(key);
    if (created == created_.end()) return;
    const auto change = [](std::uint64_t before, std::uint64_t after) {
      return static_cast<std::int64_t>(after - before);
    };
    const std::int64_t resident = change(created->second.resident, event.vm_resident);
    const std::int64_t size = change(created->second.size, event.vm_size);
    created_.erase(created);
    if (resident <= 0 && size <= 0) return;
    std::int64_t& grown = grown_[kind.name];
    grown += std::clamp<std::int64_t>(resident, 0, std::int64_t{1} << 40);  // a log may say anything
    out_ << stamp(event) << "grew, a guess at a leak: " << kind.name << " handle=" << hexadecimal(event.handle)
         << " - After destroy: VmRSS=" << signed_kb(resident) << ", VmSize=" << signed_kb(size) << " (Total "
         << kind.name << ": " << grown << "KB)\n";
  }

  struct Memory {
    std::uint64_t resident, size;
  };
  std::ostream& out_;
  const bool with_memory_;
  std::string line_;
  std::map<std::pair<std::string_view, std::uint64_t>, Memory> created_;
  std::map<std::string_view, std::int64_t> grown_;  // kB
};

constexpr std::int64_t kGrowthOfLeak = 100;  // kB; the known tool's plots use the same

bool destroys(std::string_view function) {
  return function.find("Destroy") != std::string_view::npos || function.find("Free") != std::string_view::npos;
}

constexpr std::string_view kHeader =
    "CallNumber,TimeMs,APICall,VmSize_KB,VmRSS_KB,VmData_KB,VmPeak_KB,Threads,Delta_VmSize_KB,Delta_VmRSS_KB,"
    "Delta_VmData_KB,Contexts,CommandQueues,Modules,Kernels,EventPools,CommandLists,Events,Fences,Images,Samplers,"
    "TotalMemory_Bytes";
constexpr std::size_t kEventColumns = 22;
constexpr std::size_t kLongestLine = 4096;
constexpr std::size_t kMostFunctions = 4096;

class FunctionNumbers {
 public:
  explicit FunctionNumbers(Rows& rows) : rows_(rows) {}

  std::uint32_t of(std::string_view name) {
    auto known = numbers_.find(name);
    // Garbage in the column must not fill the memory.
    if (known == numbers_.end() && rows_.functions.size() >= kMostFunctions) known = numbers_.find(name = "(others)");
    if (known != numbers_.end()) return known->second;
    rows_.functions.emplace_back(name);
    return numbers_.emplace(name, static_cast<std::uint32_t>(rows_.functions.size() - 1)).first->second;
  }

 private:
  Rows& rows_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
};

template <class Number>
bool scan(std::string_view text, Number& number) {
  const std::optional<Number> known = number_of<Number>(text);
  number = known.value_or(0);
  return known.has_value();
}

bool split(std::string_view line, std::array<std::string_view, kEventColumns>& fields) {
  std::size_t count = 0;
  while (count < kEventColumns) {
    const std::size_t comma = line.find(',');
    fields[count++] = line.substr(0, comma);
    if (comma == std::string_view::npos) return count == kEventColumns;
    line.remove_prefix(comma + 1);
  }
  return false;
}

bool read_row(std::string_view line, FunctionNumbers& functions, Row& row) {
  std::array<std::string_view, kEventColumns> f;
  if (!split(line, f) || f[2].empty()) return false;
  bool good = scan(f[1], row.milliseconds) && std::isfinite(row.milliseconds) && scan(f[3], row.size) &&
              scan(f[4], row.resident) && scan(f[5], row.data) && scan(f[8], row.size_change) &&
              scan(f[9], row.resident_change) && scan(f[21], row.total_bytes);
  for (std::size_t i = 0; i < kResourceColumns; ++i) good = good && scan(f[11 + i], row.counts[i]);
  if (good) row.function = functions.of(f[2]);
  return good;
}

std::string_view without_line_end(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

const std::array<std::string_view, kResourceColumns> kResourceColumnNames = {
    "Contexts",     "CommandQueues", "Modules", "Kernels", "EventPools",
    "CommandLists", "Events",        "Fences",  "Images",  "Samplers"};

bool is_csv(std::string_view head) { return without_line_end(head.substr(0, head.find('\n'))) == kHeader; }

std::optional<Rows> read_csv(std::string_view text) {
  if (!is_csv(text)) return std::nullopt;
  Rows rows;
  FunctionNumbers functions(rows);
  (void)take_until(text, '\n');
  while (!text.empty()) {
    Row row;
    // Without a line end it may be cut within a number.
    const bool ends = text.find('\n') != std::string_view::npos;
    const std::string_view line = take_until(text, '\n');
    if (ends && line.size() <= kLongestLine && read_row(without_line_end(line), functions, row))
      rows.rows.push_back(row);
    else
      ++rows.unreadable;
  }
  return rows;
}

std::optional<Rows> read_log(std::span<const std::byte> log) {
  auto reader = LevelZeroLogReader::open(log);
  if (!reader) return std::nullopt;
  Rows rows;
  rows.with_memory = reader->with_memory();
  FunctionNumbers functions(rows);
  while (const auto event = reader->next()) {
    Row& row = rows.rows.emplace_back();
    row.milliseconds = static_cast<double>(event->since_start_ns) / 1e6;
    row.function = functions.of(event->function);
    row.counts = event->counts;
    row.size = static_cast<std::int64_t>(event->vm_size);
    row.resident = static_cast<std::int64_t>(event->vm_resident);
    row.data = static_cast<std::int64_t>(event->vm_data);
    row.size_change = event->size_change;
    row.resident_change = event->resident_change;
    row.total_bytes = event->total_bytes;
  }
  rows.unreadable = reader->unreadable();
  return rows;
}

bool write_csv(std::span<const std::byte> log, std::ostream& out) {
  auto reader = LevelZeroLogReader::open(log);
  if (!reader) return false;
  out << kHeader << '\n';
  std::int64_t number = 0;
  while (const auto event = reader->next()) {
    out << ++number << ',' << event->since_start_ns / 1'000'000 << ',' << event->function << ',';
    for (const std::uint64_t value :
         {event->vm_size, event->vm_resident, event->vm_data, event->vm_peak, event->threads})
      out << static_cast<std::int64_t>(value) << ',';
    for (const std::int64_t value : {event->size_change, event->resident_change, event->data_change})
      out << value << ',';
    for (const std::uint32_t count : event->counts) out << count << ',';
    out << event->total_bytes << '\n';
  }
  return true;
}

Statistics statistics_of(const Rows& rows) {
  Statistics statistics;
  for (const std::string& function : rows.functions) statistics.functions.push_back({function});
  for (const Row& row : rows.rows) {
    FunctionUse& use = statistics.functions[row.function];
    ++use.calls;
    use.megabytes += static_cast<double>(row.resident_change) / 1024;
    statistics.seconds = std::max(statistics.seconds, row.milliseconds / 1000);
    statistics.peak_resident = std::max(statistics.peak_resident, row.resident);
    statistics.peak_total_bytes = std::max(statistics.peak_total_bytes, row.total_bytes);
    if (row.resident_change > kGrowthOfLeak && destroys(use.function))
      statistics.growth.push_back(
          {row.milliseconds / 1000, use.function, static_cast<double>(row.resident_change) / 1024});
  }
  return statistics;
}

std::vector<std::pair<std::string, double>> top_functions(const Statistics& statistics, std::size_t most,
                                                          double (*of)(const FunctionUse&)) {
  std::vector<std::pair<std::string, double>> values;
  for (const FunctionUse& use : statistics.functions)
    if (of(use) != 0) values.emplace_back(use.function, of(use));
  std::ranges::stable_sort(values, std::greater(), &std::pair<std::string, double>::second);
  if (values.size() > most) values.resize(most);
  return values;
}

bool write_call_lines(std::span<const std::byte> log, std::ostream& out) {
  auto reader = LevelZeroLogReader::open(log);
  if (!reader) return false;
  CallLines lines(out, reader->with_memory());
  while (const auto event = reader->next()) lines.add(*event);
  lines.finish();
  return true;
}

}  // namespace igpu::exporter
