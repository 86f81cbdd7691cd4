// SPDX-License-Identifier: Apache-2.0
#include "source/pmu_group.h"

#include <utility>

namespace igpu {
namespace {

constexpr std::size_t kHeaderWords = 3;  // nr, time_enabled, time_running

}  // namespace

PmuGroup::~PmuGroup() {
  while (!files_.empty()) files_.pop_back();
}

Reading<Unit> PmuGroup::add(PerfEvents& perf, const PerfEventConfig& config, int cpu, std::size_t event) {
  PerfEvent* leader = files_.empty() ? nullptr : files_.front().get();
  auto file = perf.open(config, cpu, leader);
  if (!file) return file.propagate<Unit>();
  files_.push_back(std::move(*file));
  members_.push_back({event});
  words_.resize(kHeaderWords + members_.size() + 1);  // one more, to detect an answer that is too long
  return Unit{};
}

Reading<PmuGroup::Outcome> PmuGroup::read() {
  const auto answer = files_.front()->read(words_);
  if (answer.is_failure()) return answer.propagate<Outcome>();
  if (!answer || answer->size() != kHeaderWords + members_.size() || answer->front() != members_.size())
    return Outcome::dissolved;
  const std::uint64_t enabled = std::exchange(enabled_, (*answer)[1]);
  const std::uint64_t running = std::exchange(running_, (*answer)[2]);
  elapsed_ = enabled_ - enabled;
  const std::uint64_t ran = running_ - running;
  take(answer->subspan(kHeaderWords), ran);
  return ran == 0 && elapsed_ != 0 ? Outcome::did_not_run : Outcome::counted;
}

void PmuGroup::take(std::span<const std::uint64_t> values, std::uint64_t running) {
  const bool ran_in_part = running != 0 && running < elapsed_;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    std::uint64_t gained = values[i] - std::exchange(member.last, values[i]);
    if (ran_in_part && static_cast<std::int64_t>(gained) > 0)
      gained = static_cast<std::uint64_t>(static_cast<double>(gained) * static_cast<double>(elapsed_) /
                                          static_cast<double>(running));
    member.count += gained;
  }
}

}  // namespace igpu
