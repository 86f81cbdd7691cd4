// SPDX-License-Identifier: Apache-2.0
#include "server/pages/page_history.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace igpu::exporter {

using namespace snapshot;
namespace {

constexpr std::chrono::seconds kPause{5};  // between points of readings that are not for the page
constexpr double kSetBack = 60;            // seconds by which a reading is older than the last: the clock was set back
constexpr std::string_view kChannel = "channel";

double seconds_of(PageHistory::Time time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

// Four digits: no line is finer.
double rounded(double value) {
  if (value == 0) return 0;
  const double step = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 3);
  return step < 1 ? std::round(value / step) / std::round(1 / step) : std::round(value / step) * step;
}

}  // namespace

// Names as the script of the page uses them.
PageHistory::Point PageHistory::point_of(const HostModel& host) {
  Point point;
  const auto put = [&point](const std::string& device, std::string what, const auto& value) {
    if (value) point.push_back({{device, std::move(what)}, value->value});
  };
  for (const GpuModel& gpu : host.gpus) {
    if (!gpu.identified) continue;
    const std::string& device = gpu.gpu.address;
    for (const Engine* engine : measured_engines(gpu))
      put(device, "engine " + (engine->gt ? std::to_string(*engine->gt) + ' ' : "") + engine->name, engine->busy);
    if (const Power* draw = draw_of(gpu)) put(device, "power", draw->mean);
    put(device, "clock", clock_of(gpu));
    if (const Temperature* sensor = temperature_of(gpu)) put(device, "temperature", Reading(sensor->value));
    put(device, "memory", memory_in_use(gpu));
    if (gpu.fans && !gpu.fans->empty())
      put(device, "fan",
          Reading(std::ranges::max_element(*gpu.fans, {}, [](const Fan& fan) { return fan.speed.value; })->speed));
    if (gpu.rc6 && !gpu.rc6->empty()) put(device, "idle", gpu.rc6->front().ratio);
  }
  for (const Npu& npu : host.npus) {
    put(npu.address, "engine npu", npu.busy);
    put(npu.address, "power", npu.power);
    put(npu.address, "clock", npu.frequency);
    put(npu.address, "temperature", npu.temperature);
    put(npu.address, "memory", npu.resident_memory);
  }
  return point;
}

void PageHistory::put_marks(const HostModel& host) {
  for (const GpuModel& gpu : host.gpus) {
    for (const Fault& fault : gpu.faults) {
      Mark mark{gpu.gpu.address, fault.kind, fault.at.value};
      if (std::ranges::find(marks_, mark) != marks_.end()) continue;
      if (marks_.size() == kMostMarks) marks_.erase(marks_.begin());
      marks_.push_back(std::move(mark));
    }
  }
}

void PageHistory::put_users(const HostModel& host, double now) {
  decltype(users_) users;
  for (const GpuModel& gpu : host.gpus) {
    if (!gpu.processes) continue;
    for (const Process& process : *gpu.processes) {
      const auto known = users_.find({process.pid, process.comm});
      users.emplace(std::pair(process.pid, process.comm), known == users_.end() ? now : known->second);
    }
  }
  users_ = std::move(users);
}

double PageHistory::first_seen(std::uint32_t pid, const std::string& comm) const {
  const std::lock_guard lock(mutex_);
  const auto known = users_.find({pid, comm});
  return known == users_.end() ? seconds_of(std::chrono::system_clock::now()) : known->second;
}

void PageHistory::note(const HostModel& host, Time time) {
  Point point = point_of(host);
  const double now = seconds_of(time);
  const std::lock_guard lock(mutex_);
  put_users(host, now);
  rates_.note(host, {now});
  const double last = last_time();
  if (now < last - kSetBack) {
    times_.clear();
    series_.clear();
    marks_.clear();
    next_ = 0;
  } else if (now < last + 1) {
    return;
  }
  for (const ChannelRate& channel : rates_.list())
    if (channel.rate) point.push_back({{std::string(kChannel), channel.name}, *channel.rate});
  const std::size_t place = next_;
  if (times_.empty()) times_.reserve(kMostPoints);
  if (times_.size() < kMostPoints) times_.resize(place + 1);
  next_ = (place + 1) % kMostPoints;
  times_[place] = now;
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  for (auto& [key, values] : series_) values[place] = kNone;
  std::erase_if(series_, [](const auto& series) {
    return std::ranges::all_of(series.second, [](float value) { return std::isnan(value); });
  });
  for (auto& [key, value] : point) {
    if (series_.size() >= kMostSeries && !series_.contains(key)) continue;
    series_.try_emplace(std::move(key), kMostPoints, kNone).first->second[place] = static_cast<float>(value);
  }
  put_marks(host);
}

bool PageHistory::is_older_than(std::chrono::seconds age, Time now) const {
  const std::lock_guard lock(mutex_);
  return std::abs(seconds_of(now) - last_time()) >= static_cast<double>(age.count());
}

double PageHistory::last_time() const {
  return times_.empty() ? 0 : times_[(next_ + times_.size() - 1) % times_.size()];
}

std::vector<ChannelRate> PageHistory::channels() const {
  const std::lock_guard lock(mutex_);
  return rates_.list();
}

void PageHistory::write(JsonWriter& json, Time time) const {
  const double now = seconds_of(time);
  const std::lock_guard lock(mutex_);
  std::vector<std::size_t> places;  // from the oldest on
  for (std::size_t i = 0; i < times_.size(); ++i) {
    const std::size_t place = times_.size() < kMostPoints ? i : (next_ + i) % kMostPoints;
    if (times_[place] > now - seconds_of(Time(kSpan))) places.push_back(place);
  }
  json.name("history").begin_object().name("times").begin_array();
  for (const std::size_t place : places) json.value(std::round((times_[place] - now) * 10) / 10);
  json.end_array().name("series").begin_array();
  for (const auto& [key, values] : series_) {
    json.begin_object().member("device", key.first).member("of", key.second).name("values").begin_array();
    for (const std::size_t place : places) {
      const float value = values[place];
      if (std::isnan(value))
        json.null();
      else
        json.value(rounded(value));
    }
    json.end_array().end_object();
  }
  json.end_array().name("faults").begin_array();
  for (const Mark& mark : marks_)
    json.begin_object().member("device", mark.device).member("kind", mark.kind).member("time", mark.time).end_object();
  json.end_array().end_object();
}

std::shared_ptr<const ScrapeResult> RememberingSource::scrape(const ScrapeRequest& request) {
  const PageHistory::Time time = std::chrono::system_clock::now();
  std::shared_ptr<const ScrapeResult> result = source_.scrape(request);
  if (result && request.collectors.all() && history_->is_older_than(kPause, time))
    history_->note(model_of(PageView(result->lists())), time);
  return result;
}

}  // namespace igpu::exporter
