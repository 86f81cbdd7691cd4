// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/health/health_incidents.h"
#include "igpu/device.h"
#include "igpu/units.h"
#include "kernel/device/engine_class.h"
#include "kernel/faults/driver_state.h"
#include "kernel/faults/fault_text.h"
#include "machine/slow_reads.h"

namespace igpu {

// Recent hangs of one GPU, and whether their processes were counted, so that a hang and its core dump count a process
// once, whichever is read first. Pure.
class NamedHangs {
 public:
  // Without uevents a dump is found when the list of dumps is read again, every 20 seconds.
  static constexpr Nanoseconds kKept = std::chrono::seconds(40);

  // has_unread_dump: keeps all hangs, because the dump may belong to any of them.
  void begin_scrape(Nanoseconds now, bool has_unread_dump) {
    ++scrape_;
    if (!has_unread_dump) std::erase_if(hangs_, [&](const auto& one) { return is_over(one.second.seen, now); });
    if (by_dump_ && is_over(by_dump_->seen, now)) by_dump_.reset();
    now_ = now;
  }

  // Notes a hang of this queue, or that its process is known now. Returns true if the process must be counted; false if
  // it is not known, or if the core dump has named it. The driver reuses the ids of queues, so a later hang is the same
  // one only if its process is the same. At first it may have two processes: the one that opened the node and the one
  // that created the queue.
  bool note_hang(const std::optional<GtQueue>& queue, HangKind kind, const std::optional<FaultProcess>& process) {
    if (queue) {
      Hang& hang = hangs_[*queue];
      hang = {kind, hang.is_named || process.has_value(), {now_, scrape_}};
    }
    if (!process) return false;
    if (!by_dump_) return true;
    const bool is_process = by_dump_->pid == process->pid;
    const bool both_told = by_dump_->queue && queue;
    const bool is_queue = both_told && by_dump_->queue->may_be(*queue);
    if (both_told && !is_queue) return true;
    if (!is_process && !(is_queue && scrape_ - by_dump_->seen.scrape <= 1)) return true;
    by_dump_.reset();
    return false;
  }

  // Notes a core dump of `process`. Returns the kind of the hang that it belongs to: that of the queue's hang, or
  // otherwise the dump's own reason. nullopt: a hang has named the process, or may have if the dump names no queue.
  std::optional<HangKind> note_dump(const CoreDumpStart& dump, const FaultProcess& process) {
    const auto queue = dump.queue ? std::optional(GtQueue{*dump.queue, dump.gt}) : std::nullopt;
    std::optional<HangKind> kind;
    bool is_named = false, is_one_kind = true;
    const auto note = [&](const auto& known) {
      is_named = is_named || known->second.is_named;
      is_one_kind = is_one_kind && (!kind || kind == known->second.kind);
      kind = known->second.kind;
    };
    if (queue) {
      for_each_of(hangs_, *queue, note);
    } else {
      for (auto known = hangs_.begin(); known != hangs_.end(); ++known) note(known);
    }
    if (is_named) return std::nullopt;
    by_dump_ = {queue, process.pid, {now_, scrape_}};
    return kind && is_one_kind ? *kind : dump.kind;
  }

 private:
  struct Seen {
    Nanoseconds time{};
    std::uint64_t scrape = 0;
  };
  struct Hang {
    HangKind kind{};
    bool is_named = false;
    Seen seen;
  };
  struct Dump {
    std::optional<GtQueue> queue;
    std::uint32_t pid = 0;
    Seen seen;
  };
  bool is_over(const Seen& seen, Nanoseconds now) const { return now - seen.time > kKept && scrape_ - seen.scrape > 1; }

  ByQueue<Hang> hangs_;
  std::optional<Dump> by_dump_;  // xe makes at most one dump an hour
  std::uint64_t scrape_ = 0;
  Nanoseconds now_{};
};

// Whether a GPU is wedged, from what the kernel announced and what the driver answered. Pure.
//
// An announcement counts at once. An answer counts when the next one agrees, because a driver that recovers from a PCIe
// error answers as if it had given up. Until the first answer or announcement the result is nullopt.
class WedgedVerdict {
 public:
  void announced() {
    wedged_ = true;
    agreeing_ = 0;
  }
  void answered(bool wedged) {
    agreeing_ = wedged == last_ ? agreeing_ + 1 : 1;
    last_ = wedged;
    if (agreeing_ > 1 || (!wedged_ && !wedged)) wedged_ = wedged;
  }
  // i915 began a reset of the whole GPU. It finishes within a second or declares the GPU wedged.
  void reset_began(Nanoseconds now) {
    if (!reset_since_) reset_since_ = now;
  }
  void reset_ended() { reset_since_.reset(); }
  bool reset_hangs(Nanoseconds now) const { return reset_since_ && now - *reset_since_ >= kLongestReset; }

  std::optional<bool> wedged() const { return wedged_; }
  // Whether the next answer can change the verdict.
  bool is_open() const { return last_ && *last_ != wedged_.value_or(!*last_); }

 private:
  static constexpr Nanoseconds kLongestReset = std::chrono::seconds(5);

  std::optional<bool> wedged_;
  std::optional<bool> last_;
  unsigned agreeing_ = 0;
  std::optional<Nanoseconds> reset_since_;
};

// The state of the collector `health` for one GPU.
struct HealthDevice {
  static constexpr std::size_t kClasses = kEngineClasses + 1;  // the last one: unknown

  HealthDevice(DrmNodes& nodes, const Gpu& gpu)
      : address(gpu.address), binding(gpu.binding), driver(gpu.driver), pci_path(gpu.pci_path), probe(nodes, gpu) {}

  std::string address;
  std::uint64_t binding;
  Driver driver;
  std::string pci_path;
  WedgedProbe probe;
  WedgedVerdict wedged;
  std::optional<Absent> why_unknown;  // why it is not known whether the GPU is wedged
  bool may_have_been_wedged = false;  // before the start: no answer has shown the opposite yet
  HangIncidents incidents;
  NamedHangs named;

  std::uint64_t resets = 0, dumps = 0;
  std::array<std::array<std::uint64_t, kClasses>, kHangKinds> hangs{};
  struct Line {
    std::string text;
    Nanoseconds age{};
  };
  std::optional<Line> first_line;  // of the first hang in this scrape
  struct Process {
    FaultProcess who;
    std::uint64_t hangs = 0;
  };
  std::vector<Process> processes;           // in the order of their last hangs
  std::string unread_dump;                  // path of a new dump's content
  std::unique_ptr<SlowReads> dump;          // reads the start of the dump, for as long as that takes
  bool dump_is_new = false;                 // reading it began in this scrape
  std::map<std::string_view, double> last;  // time of the last line or event by kind, in seconds since 1970
  std::map<std::string_view, std::uint64_t> events;

  bool has_unread_dump() const { return !unread_dump.empty() || dump; }
};

}  // namespace igpu
