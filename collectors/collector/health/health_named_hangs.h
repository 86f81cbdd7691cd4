// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "collector/health/health_queues.h"
#include "igpu/units.h"
#include "kernel/faults/fault_text.h"

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

}  // namespace igpu
