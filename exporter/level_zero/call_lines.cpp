// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "igpu/level_zero.h"
#include "level_zero/event_rows.h"
#include "text/formatted.h"

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

}  // namespace

bool write_call_lines(std::span<const std::byte> log, std::ostream& out) {
  auto reader = LevelZeroLogReader::open(log);
  if (!reader) return false;
  CallLines lines(out, reader->with_memory());
  while (const auto event = reader->next()) lines.add(*event);
  lines.finish();
  return true;
}

}  // namespace igpu::exporter
