// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "igpu/units.h"
#include "source/fault_text.h"

namespace igpu {

// Of one GPU: whose hangs were named lately, so that a hang and the core dump of it name its process once, whichever is
// read first. Pure.
class NamedHangs {
 public:
  // Without uevents a dump is found when the list of dumps is read again, every 20 seconds.
  static constexpr Nanoseconds kKept = std::chrono::seconds(40);

  // has_unread_dump: all are kept that were known when it was made.
  void begin_scrape(Nanoseconds now, bool has_unread_dump) {
    ++scrape_;
    if (!has_unread_dump) std::erase_if(by_hang_, [&](const auto& one) { return is_over(one.second, now); });
    if (by_dump_ && is_over(by_dump_->seen, now)) by_dump_.reset();
    now_ = now;
  }

  // A hang of this queue names its process. False: the core dump has named it. The driver gives the ids of queues that
  // ended to new ones, so a later hang is the same only if the process is, too; at first it may have two names: the one
  // that opened the node and the one that created the queue.
  bool hang_names(std::optional<std::uint32_t> queue, const FaultProcess& process) {
    if (queue) by_hang_[*queue] = {now_, scrape_};
    if (!by_dump_) return true;
    const bool is_process = by_dump_->process.pid == process.pid;
    const bool is_queue = by_dump_->queue && by_dump_->queue == queue && scrape_ - by_dump_->seen.scrape <= 1;
    const bool is_other_queue = by_dump_->queue && queue && by_dump_->queue != queue;
    if (is_other_queue || (!is_process && !is_queue)) return true;
    by_dump_.reset();
    return false;
  }

  // A core dump does, whose reason names this queue, if any. False: a hang has named it; or may have, if the dump does
  // not say of which queue it is.
  bool dump_names(std::optional<std::uint32_t> queue, const FaultProcess& process) {
    if (queue ? by_hang_.contains(*queue) : !by_hang_.empty()) return false;
    by_dump_ = {queue, process, {now_, scrape_}};
    return true;
  }

 private:
  struct Seen {
    Nanoseconds time{};
    std::uint64_t scrape = 0;
  };
  struct Dump {
    std::optional<std::uint32_t> queue;
    FaultProcess process;
    Seen seen;
  };
  bool is_over(const Seen& seen, Nanoseconds now) const { return now - seen.time > kKept && scrape_ - seen.scrape > 1; }

  std::unordered_map<std::uint32_t, Seen> by_hang_;  // by queue
  std::optional<Dump> by_dump_;                      // xe makes one an hour
  std::uint64_t scrape_ = 0;
  Nanoseconds now_{};
};

}  // namespace igpu
