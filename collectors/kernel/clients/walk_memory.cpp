// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/walk_memory.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace igpu {

void WalkMemory::follow(std::span<const std::uint32_t> pids, Nanoseconds now) {
  std::vector<WalkedProcess> next;
  next.reserve(pids.size());
  auto known = processes_.begin();
  for (const std::uint32_t pid : pids) {
    while (known != processes_.end() && known->pid < pid) ++known;
    if (known != processes_.end() && known->pid == pid) {
      next.push_back(std::move(*known));
    } else {
      WalkedProcess process;
      process.pid = pid;
      process.scanned = now;
      next.push_back(std::move(process));
    }
  }
  processes_ = std::move(next);
}

void WalkMemory::choose_oldest(std::uint64_t walk, unsigned walks) {
  std::vector<WalkedProcess*> candidates;
  for (WalkedProcess& process : processes_)
    if (!process.must_scan) candidates.push_back(&process);
  const std::size_t share = (candidates.size() + walks - 1) / walks;
  const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(share);
  std::nth_element(candidates.begin(), end, candidates.end(), [](const WalkedProcess* a, const WalkedProcess* b) {
    return std::tie(a->scanned_in, a->pid) < std::tie(b->scanned_in, b->pid);
  });
  std::for_each(candidates.begin(), end, [](WalkedProcess* process) { process->must_scan = true; });
  std::for_each(end, candidates.end(),
                [&](WalkedProcess* process) { process->must_scan = walk - process->scanned_in >= walks; });
}

std::vector<WalkedProcess*> WalkMemory::to_scan(bool holders_first) {
  std::vector<WalkedProcess*> chosen;
  for (WalkedProcess& process : processes_)
    if (process.must_scan) chosen.push_back(&process);
  const auto rank = [holders_first](const WalkedProcess* process) {
    // A scan that was cut short goes on first.
    return std::tuple(process->resume_at == 0, holders_first && !process->holds_clients(), process->scanned_in);
  };
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&rank](const WalkedProcess* a, const WalkedProcess* b) { return rank(a) < rank(b); });
  return chosen;
}

}  // namespace igpu
