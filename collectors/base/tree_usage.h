// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace igpu {

// One process as a scan found it. Counts are since its start.
struct TreeProcess {
  std::uint32_t pid = 0;
  std::uint32_t parent = 0;
  std::uint64_t start_ticks = 0;  // since boot; distinguishes a reused PID
  std::uint64_t user_ticks = 0;
  std::uint64_t system_ticks = 0;
  // Of children that ended and were waited for, including their own children.
  std::uint64_t reaped_user_ticks = 0;
  std::uint64_t reaped_system_ticks = 0;
  std::uint64_t reaped_faults = 0;  // grows whenever a child is waited for
  // These include children that were waited for.
  std::optional<std::uint64_t> read_bytes;
  std::optional<std::uint64_t> written_bytes;
  std::uint64_t resident_bytes = 0;
};

// Finds a process in a list sorted by PID; null if it is not there.
inline const TreeProcess* find_process(std::span<const TreeProcess> processes, std::uint32_t pid) {
  const auto it = std::ranges::lower_bound(processes, pid, {}, &TreeProcess::pid);
  return it == processes.end() || it->pid != pid ? nullptr : &*it;
}

// What processes used between two scans. Each second and byte counts once:
//   - a process that started after the previous scan counts from its start; an older process counts from the scan that
//     first shows it (it may have run before the exporter, or outside of all groups);
//   - the time of a process that ended between two scans appears in its parent once the parent has waited for it. The
//     part beyond the last reading of that process is the parent's gain. A process that started and ended between two
//     scans is visible only there;
//   - a count that steps back gains nothing.
class TreeUsage {
 public:
  struct Gain {
    std::uint64_t user_ticks = 0;
    std::uint64_t system_ticks = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
  };

  // processes: all that are counted now, sorted by PID, each once. now_ticks: begin of the scan, on the clock of
  // start_ticks. The gains are in the order of processes, and valid until the next call.
  std::span<const Gain> advance(std::span<const TreeProcess> processes, std::uint64_t now_ticks) {
    for (auto& [pid, known] : known_) known.seen = false;
    for (const TreeProcess& process : processes) {
      const auto it = known_.find(process.pid);
      if (it != known_.end() && it->second.last.start_ticks == process.start_ticks) it->second.seen = true;
    }
    // Before the gains: a parent's gain depends on who ended.
    for (const auto& [pid, known] : known_)
      if (!known.seen) end(known);
    std::erase_if(known_, [](const auto& entry) { return !entry.second.seen; });

    gains_.clear();
    gains_.reserve(processes.size());
    for (const TreeProcess& process : processes) {
      const auto [it, is_new] = known_.try_emplace(process.pid);
      Known& known = it->second;
      if (!is_new) {
        gains_.push_back(gain_of(known, process));
      } else if (previous_scan_ && process.start_ticks >= *previous_scan_) {
        gains_.push_back(whole(process));
      } else {
        gains_.emplace_back();
      }
      known.last = process;
      known.ended_before = known.ended_now;
      known.ended_now = {};
    }
    previous_scan_ = now_ticks;
    return gains_;
  }

  std::size_t known() const { return known_.size(); }

 private:
  static std::uint64_t gained(std::uint64_t before, std::uint64_t now) { return now > before ? now - before : 0; }
  static std::uint64_t gained(const std::optional<std::uint64_t>& before, const std::optional<std::uint64_t>& now) {
    return before && now ? gained(*before, *now) : 0;
  }

  // What is left of a gain once the known part of it is taken off; taken from the earlier part first.
  static std::uint64_t beyond(std::uint64_t gain, std::uint64_t& earlier, std::uint64_t& later) {
    const std::uint64_t from_earlier = std::min(gain, earlier);
    earlier -= from_earlier;
    gain -= from_earlier;
    const std::uint64_t from_later = std::min(gain, later);
    later -= from_later;
    return gain - from_later;
  }

  static void add(TreeUsage::Gain& sum, const TreeUsage::Gain& more) {
    sum.user_ticks += more.user_ticks;
    sum.system_ticks += more.system_ticks;
    sum.read_bytes += more.read_bytes;
    sum.written_bytes += more.written_bytes;
  }

  static TreeUsage::Gain whole(const TreeProcess& process) {
    return {process.user_ticks + process.reaped_user_ticks, process.system_ticks + process.reaped_system_ticks,
            process.read_bytes.value_or(0), process.written_bytes.value_or(0)};
  }

  struct Known {
    TreeProcess last;
    // Last readings of children that this scan, and the scan before, found ended. A child may end after its parent was
    // read, so its time can reach the parent one scan later, but not after that.
    Gain ended_now;
    Gain ended_before;
    bool seen = false;
  };

  // The nearest running ancestor inherits it: those in between ended as well, and passed on what they waited for.
  void end(const Known& process) {
    Gain of_it = whole(process.last);
    add(of_it, process.ended_before);
    std::uint32_t parent = process.last.parent;
    for (std::size_t steps = 0; steps <= known_.size(); ++steps) {
      const auto it = known_.find(parent);
      if (it == known_.end()) return;
      if (it->second.seen) {
        add(it->second.ended_now, of_it);
        return;
      }
      parent = it->second.last.parent;
    }
  }
  static Gain gain_of(Known& known, const TreeProcess& now) {
    const TreeProcess& last = known.last;
    Gain gain;
    gain.user_ticks = gained(last.user_ticks, now.user_ticks);
    gain.system_ticks = gained(last.system_ticks, now.system_ticks);
    gain.read_bytes = gained(last.read_bytes, now.read_bytes);
    gain.written_bytes = gained(last.written_bytes, now.written_bytes);
    // Without a wait, ended children left nothing behind (SIGCHLD ignored, or they had another parent by then).
    if (now.reaped_faults == last.reaped_faults) return gain;
    Gain& before = known.ended_before;
    Gain& later = known.ended_now;
    gain.user_ticks +=
        beyond(gained(last.reaped_user_ticks, now.reaped_user_ticks), before.user_ticks, later.user_ticks);
    gain.system_ticks +=
        beyond(gained(last.reaped_system_ticks, now.reaped_system_ticks), before.system_ticks, later.system_ticks);
    gain.read_bytes = beyond(gain.read_bytes, before.read_bytes, later.read_bytes);
    gain.written_bytes = beyond(gain.written_bytes, before.written_bytes, later.written_bytes);
    return gain;
  }

  std::map<std::uint32_t, Known> known_;
  std::vector<Gain> gains_;
  std::optional<std::uint64_t> previous_scan_;
};

}  // namespace igpu
