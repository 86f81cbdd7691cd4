// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "machine/filesystem.h"
#include "machine/perf_events.h"
#include "support/fake_clock.h"

namespace igpu::test {

// Perf PMUs whose counters the test moves. Each event counts from its own opening, as the kernel's do. An event whose
// counter was never set counts 0; types that were not added do not exist (ENOENT).
class FakePerfEvents final : public PerfEvents {
 public:
  explicit FakePerfEvents(const FakeClock& clock) : clock_(clock) {}

  void add_pmu(std::uint32_t type) { types_.insert(type); }
  void remove_pmu(std::uint32_t type) { types_.erase(type); }
  // The free-running counter behind an event.
  std::uint64_t& counter(std::uint32_t type, std::uint64_t config) { return counters_[{type, config}]; }
  void refuse(std::uint32_t type, std::uint64_t config, int error) { refused_[{type, config}] = error; }
  void allow(std::uint32_t type, std::uint64_t config) { refused_.erase({type, config}); }
  void refuse_all(int error) { refuse_all_ = error; }  // 0: no longer
  // The next reads answer this errno (0: no longer), or only this many words of a group, as after an unbind.
  void fail_reads(int error) { read_error_ = error; }
  void cut_reads(std::size_t words) { cut_ = words; }  // 0: no longer
  void dissolve() { dissolved_ = true; }  // groups that are open answer nr = 1 from now on; new ones are whole

  int opens = 0;
  int reads = 0;
  int open_now = 0;
  std::multiset<std::pair<std::uint32_t, std::uint64_t>> open_events;
  std::vector<int> cpus;  // of every successful opening

  Reading<std::unique_ptr<PerfEvent>> open(const PerfEventConfig& event, int cpu, PerfEvent* leader) override {
    const auto key = std::pair(event.type, event.config);
    int error = refuse_all_;
    if (error == 0 && !types_.contains(event.type)) error = ENOENT;
    if (error == 0)
      if (const auto it = refused_.find(key); it != refused_.end()) error = it->second;
    if (error == EINVAL) return Absent{Reason::kernel, EINVAL};
    if (error != 0) return outcome_of_errno<std::unique_ptr<PerfEvent>>(error, "perf_event_open");
    ++opens;
    cpus.push_back(cpu);
    if (leader) dissolved_ = false;
    return std::unique_ptr<PerfEvent>(std::make_unique<Event>(*this, key, static_cast<Event*>(leader)));
  }

 private:
  using Key = std::pair<std::uint32_t, std::uint64_t>;

  class Event final : public PerfEvent {
   public:
    Event(FakePerfEvents& perf, Key key, Event* leader)
        : perf_(perf), key_(key), start_(perf.counters_[key]), enabled_at_(perf.clock_.now()) {
      ++perf_.open_now;
      perf_.open_events.insert(key_);
      if (!leader) perf_.dissolved_ = false;
      (leader ? leader : this)->group_.push_back({key_, start_});
    }
    ~Event() override {
      --perf_.open_now;
      perf_.open_events.erase(perf_.open_events.find(key_));
    }
    Reading<std::span<const std::uint64_t>> read(std::span<std::uint64_t> words) override {
      ++perf_.reads;
      if (perf_.read_error_ != 0)
        return outcome_of_errno<std::span<const std::uint64_t>>(perf_.read_error_, "read of a perf event group");
      const std::size_t members = perf_.dissolved_ ? 1 : group_.size();
      if (words.size() < members + 3)
        return Failure{std::error_code(ENOSPC, std::generic_category()), "read of a perf event group"};
      const auto enabled = static_cast<std::uint64_t>((perf_.clock_.now() - enabled_at_).count());
      words[0] = members;
      words[1] = words[2] = enabled;
      for (std::size_t i = 0; i < members; ++i) words[3 + i] = perf_.counters_[group_[i].first] - group_[i].second;
      const std::size_t count = perf_.cut_ ? std::min(perf_.cut_, members + 3) : members + 3;
      return std::span<const std::uint64_t>(words.first(count));
    }

   private:
    FakePerfEvents& perf_;
    Key key_;
    std::uint64_t start_;
    Nanoseconds enabled_at_;
    std::vector<std::pair<Key, std::uint64_t>> group_;  // of a leader: itself and its siblings
  };

  const FakeClock& clock_;
  std::set<std::uint32_t> types_;
  std::map<Key, std::uint64_t> counters_;
  std::map<Key, int> refused_;
  int refuse_all_ = 0;
  int read_error_ = 0;
  std::size_t cut_ = 0;
  bool dissolved_ = false;
};

}  // namespace igpu::test
