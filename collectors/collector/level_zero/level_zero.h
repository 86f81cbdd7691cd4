// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "collector/collector.h"
#include "level_zero/level_zero_pages.h"

namespace igpu {

// Live resources, calls and leaks of Level Zero programs, from the pages that the tracker writes in them.
class LevelZeroCollector final : public MachineCollector {
 public:
  static const CollectorInfo kInfo;

  static std::unique_ptr<MachineCollector> create(const MachineContext& context);
  LevelZeroCollector(std::unique_ptr<PageFolder> folder, Nanoseconds retention, std::uint64_t most_series,
                     std::function<std::uint64_t()> realtime_ns = level_zero_realtime_ns);

  void collect(MachinePass& pass, SampleSink& out) override { collect(pass.now(), out); }
  void collect(Nanoseconds now, SampleSink& out);

 private:
  struct Ended {
    LevelZeroPage page;  // empty once it is no longer reported
    std::uint32_t owner = 0;
    std::int32_t pid = 0;
    Nanoseconds since{};
    bool reported = true;

    void forget() {
      reported = false;
      page = {};
    }
  };
  struct Sums;
  struct Shown;

  Nanoseconds since_end(const LevelZeroPage& page) const;
  std::vector<Shown> follow(LevelZeroSnapshot& snapshot, Nanoseconds now);
  void forget_most_ended();
  void add_fair_share(std::vector<Shown> programs, Sums& sums);
  void count_rejection(PageRejection reason) { ++rejected_[static_cast<std::size_t>(reason)]; }

  LevelZeroPages pages_;
  const Nanoseconds retention_;
  const std::uint64_t most_series_;
  const std::function<std::uint64_t()> realtime_ns_;
  std::map<std::string, std::int32_t> pids_;         // PIDs of running programs in this PID namespace, by file
  std::map<std::string, Ended, std::less<>> ended_;  // by file
  std::set<std::string> without_series_;             // files of programs that have no series
  std::array<std::uint64_t, kPageRejections> rejected_{};
};

}  // namespace igpu
