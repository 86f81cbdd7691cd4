// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "view/report/gpu_summary.h"

namespace igpu::exporter {
namespace {

// In seconds.
constexpr double kWindow = 5, kSpan = 900, kLeast = 60, kApart = 0.5, kStall = 2, kSetBack = 60;
constexpr double kSame = 0.02;  // pictures are whole, so a rate over five seconds is right within this

// The median, if half of the rates are the same as it.
template <class Rates>
std::optional<double> constant_rate(const Rates& rates) {
  if (rates.size() < 3 || rates.back().at - rates.front().at < kLeast) return std::nullopt;
  std::vector<double> sorted;
  for (const auto& rate : rates) sorted.push_back(rate.jobs);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const double median = *middle;
  const auto same =
      std::ranges::count_if(sorted, [&](double rate) { return std::abs(rate - median) <= kSame * median; });
  if (median <= 0 || 2 * static_cast<std::size_t>(same) < sorted.size()) return std::nullopt;
  return median;
}

}  // namespace

ChannelRate ChannelRates::Course::next(const snapshot::Channel& channel, double now) {
  const double jobs = channel.jobs.value;
  if (!recent.empty() && jobs < recent.back().jobs) *this = {};  // it began anew
  if (recent.empty() || jobs > recent.back().jobs) moved = now;
  recent.push_back({now, jobs});
  while (recent.size() > 2 && recent[1].at <= now - kWindow) recent.pop_front();
  ChannelRate made{channel.name, channel.cards, {}, nominal, 0};
  if (recent.size() < 2) return made;
  made.rate = (jobs - recent.front().jobs) / (now - recent.front().at);
  if (rates.empty() || now >= rates.back().at + kWindow) rates.push_back({now, *made.rate});
  while (rates.front().at < now - kSpan) rates.pop_front();
  const std::optional<double> constant = constant_rate(rates);
  if (constant && (!nominal || *constant >= *nominal * (1 - kSame))) {
    nominal = std::max(constant, nominal);
    held = now;
  } else if (nominal && held < now - kSpan) {
    nominal = constant;
  }
  made.nominal = nominal;
  if (nominal && now - moved >= kStall) made.stalled = now - moved;
  return made;
}

void ChannelRates::note(const HostModel& host, Seconds now) {
  if (now.value < last_ + kApart && now.value > last_ - kSetBack) return;
  if (now.value < last_) courses_.clear();  // the clock was set back
  const bool is_first = last_ == 0;
  last_ = now.value;
  std::map<std::string, Course, std::less<>> courses;
  list_.clear();
  for (const snapshot::Channel& channel : host.channels()) {
    Course& course = courses[channel.name] = std::move(courses_[channel.name]);
    list_.push_back(course.next(channel, now.value));
  }
  courses_ = std::move(courses);  // without those that ended
  // The first reading waits and opens much, so its time may be a second or two beside that of its counts.
  if (is_first) courses_.clear();
}

}  // namespace igpu::exporter
