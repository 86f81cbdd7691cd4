// SPDX-License-Identifier: Apache-2.0
#include "collector/sampling/flight_recorder.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "collector/sampling/engine_statistics.h"

namespace igpu::sampling {
namespace {

std::string_view to_string(GpuState state) {
  switch (state) {
    case GpuState::sampled: return "sampled";
    case GpuState::sleeping: return "sleeping";
    case GpuState::gone: return "gone";
  }
  return "";
}

std::string gt_name(const std::string& gt) { return "gt" + gt + ' '; }

std::vector<Flight::Column> columns_of(const FrameLayout& layout) {
  std::vector<Flight::Column> columns;
  for (const auto& engine : layout.engines) columns.push_back({gt_name(engine.gt) + engine.name + " busy", "ratio"});
  for (const auto& domain : layout.domains) columns.push_back({domain.name + " power", "watts"});
  for (const std::string& gt : layout.gts) columns.push_back({gt_name(gt) + "frequency", "hertz"});
  for (std::size_t gt = 0; gt < layout.gts.size(); ++gt)
    if ((layout.throttle_known >> gt & 1) != 0)
      for (const std::string& reason : layout.reasons)
        columns.push_back({gt_name(layout.gts[gt]) + "throttled " + reason, ""});
  return columns;
}

// The line that tells of the event may have been left out of a flood.
void add_own_line(Flight& flight) {
  const FlightEvent& event = flight.event;
  const auto is_it = [&event](const Flight::Fault& line) {
    return line.time == event.time && line.device == event.device && line.text == event.line;
  };
  if (event.line.empty() || std::ranges::any_of(flight.faults, is_it)) return;
  const auto later =
      std::ranges::find_if(flight.faults, [&event](const Flight::Fault& line) { return line.time > event.time; });
  flight.faults.insert(later, {event.device, event.line, event.time});
  if (flight.more_faults > 0) --flight.more_faults;
}

int rank_of(FlightCause cause) { return is_fault(cause) ? 2 : cause == FlightCause::request ? 0 : 1; }

void append_values(const FrameLayout& layout, const SampleFrame& frame, std::vector<float>& out) {
  out.insert(out.end(), frame.engine_busy.begin(),
             frame.engine_busy.begin() + static_cast<long>(layout.engines.size()));
  out.insert(out.end(), frame.watts.begin(), frame.watts.begin() + static_cast<long>(layout.domains.size()));
  out.insert(out.end(), frame.hertz.begin(), frame.hertz.begin() + static_cast<long>(layout.gts.size()));
  for (std::size_t gt = 0; gt < layout.gts.size(); ++gt)
    if ((layout.throttle_known >> gt & 1) != 0)
      for (std::size_t reason = 0; reason < layout.reasons.size(); ++reason) {
        const bool limits = (frame.throttled[gt] >> reason & 1) != 0;
        out.push_back((frame.throttle_read >> gt & 1) == 0 ? kNothing : limits ? 1.0F : 0.0F);
      }
}

}  // namespace

void FlightRecorder::bind(const FrameLayout& layout) {
  const auto fresh = [&] { return Binding{layout, FrameRing(history(), options_.interval)}; };
  const auto known = gpus_.find(layout.device);
  if (known == gpus_.end()) {
    gpus_.emplace(layout.device, RecordedGpu{std::nullopt, fresh(), std::vector<Holds>(options_.triggers.size())});
    return;
  }
  RecordedGpu& gpu = known->second;
  gpu.before = std::exchange(gpu.now, fresh());
  gpu.holds.assign(options_.triggers.size(), {});
}

void FlightRecorder::add(const FrameLayout& layout, const SampleFrame& frame, bool same_layout) {
  RecordedGpu& gpu = gpus_.find(layout.device)->second;
  if (!same_layout) gpu.now.layout = layout;
  gpu.now.frames.push(layout, frame);
  if (frame.state == GpuState::gone) {
    gpu.holds.assign(options_.triggers.size(), {});
  } else {
    watch(gpu, layout, frame);
  }
}

void FlightRecorder::watch(RecordedGpu& gpu, const FrameLayout& layout, const SampleFrame& frame) {
  for (std::size_t t = 0; t < options_.triggers.size(); ++t) {
    const FlightTrigger& trigger = options_.triggers[t];
    Holds& holds = gpu.holds[t];
    if (trigger.cause == FlightCause::throttled) {
      for (std::size_t gt = 0; gt < layout.gts.size(); ++gt) {
        if (frame.missed > 0) holds[gt].since.reset();  // nobody knows what happened meanwhile
        hold(holds[gt], frame.throttled[gt] != 0, frame.time, trigger,
             {trigger.cause, layout.device, "gt" + layout.gts[gt], frame.time});
      }
      continue;
    }
    if (trigger.cause != FlightCause::engine_busy && trigger.cause != FlightCause::idle_gap) continue;
    for (std::size_t i = 0; i < layout.engines.size(); ++i) {
      const FrameLayout::Engine& engine = layout.engines[i];
      if (!trigger.engine_class.empty() && engine.class_label != trigger.engine_class) continue;
      const float busy = frame.engine_busy[i];
      const FlightEvent event{trigger.cause, layout.device, engine.name, frame.time};
      if (trigger.cause == FlightCause::idle_gap) {
        watch_gap(holds[i], busy, frame, trigger, event);
      } else {
        hold(holds[i], is_value(busy) && static_cast<double>(busy) > trigger.above, frame.time - frame.engine_window,
             trigger, event);
      }
    }
  }
}

// since: when the condition began to hold, if it is new.
void FlightRecorder::hold(Hold& state, bool holds, Nanoseconds since, const FlightTrigger& trigger, FlightEvent event) {
  if (!holds) {
    state = {};
    return;
  }
  if (!state.since) state.since = since;
  const Nanoseconds now = event.time;
  if (state.fired || now - *state.since < trigger.length) return;
  state.fired = true;
  begin(std::move(event), now);
}

// As EngineStatistics counts gaps: only one that ends is a gap.
void FlightRecorder::watch_gap(Hold& state, float busy, const SampleFrame& frame, const FlightTrigger& trigger,
                               FlightEvent event) {
  if (!is_value(busy)) {
    state = {};
  } else if (static_cast<double>(busy) < EngineStatistics::kIdle) {
    state.gap += frame.engine_window;
    if (to_seconds(state.gap).value > EngineStatistics::kLongestGap) state = {};
  } else {
    if (state.working && state.gap > trigger.length) begin(std::move(event), frame.time);
    state.working = true;
    state.gap = {};
  }
}

void FlightRecorder::begin(FlightEvent event, Nanoseconds now, std::uint64_t more) {
  if (pending_) {
    more += 1 + pending_->more;
    if (rank_of(event.cause) <= rank_of(pending_->event.cause)) {
      pending_->more = more;
      return;
    }
  }
  const Nanoseconds due = std::max(event.time + kAfter, now + kSettles);
  pending_ = Pending{std::move(event), due, more};
}

void FlightRecorder::see_clients(const ClientSnapshot& snapshot) {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (auto& [device, clients] : clients_) {
    std::erase_if(clients, [&](const auto& one) { return snapshot.time - one.second.last > history(); });
    count += clients.size();
  }
  std::uint64_t left_out = 0;
  for (const DrmClient& client : snapshot.clients) {
    auto& clients = clients_[client.device];
    const auto known = clients.find(client.serial);
    if (known != clients.end()) {
      known->second.last = snapshot.time;
    } else if (count < kMostClients) {
      const ClientProcess* const process = snapshot.process(client.pid);
      clients.emplace(client.serial,
                      Flight::Client{client.device, client.id, client.pid,
                                     process != nullptr ? process->comm : std::string(), snapshot.time, snapshot.time});
      ++count;
    } else {
      ++left_out;
    }
  }
  if (snapshot.time - left_out_at_ > history()) clients_left_out_ = 0;
  if (left_out == 0) return;
  clients_left_out_ = std::max(clients_left_out_, left_out);
  left_out_at_ = snapshot.time;
}

void FlightRecorder::see_jobs(const std::string& device, Nanoseconds now, std::span<const JobCounts> counts) {
  JobSumsByClass sums;
  for (const JobCounts& of : counts) {
    const auto index = static_cast<std::size_t>(of.engine_class);
    JobSums& sum = sums[index] ? *sums[index] : sums[index].emplace();
    for (const std::uint64_t outcome : of.outcomes) sum.jobs += static_cast<double>(outcome);
    sum.queue_seconds += of.queue_seconds;
    sum.run_seconds += of.run_seconds;
  }
  const std::lock_guard lock(mutex_);
  const auto [known, is_new] = jobs_.try_emplace(device);
  CountedJobs& jobs = known->second;
  const JobSumsByClass before = std::exchange(jobs.last, sums);
  if (is_new) return;  // nobody knows since when
  JobSumsByClass gained = sums;
  for (std::size_t i = 0; i < kJobClasses; ++i) {
    if (!gained[i] || !before[i]) continue;
    gained[i]->jobs -= before[i]->jobs;
    gained[i]->queue_seconds -= before[i]->queue_seconds;
    gained[i]->run_seconds -= before[i]->run_seconds;
  }
  while (!jobs.samples.empty() &&
         (jobs.samples.size() >= kMostJobSamples || now - jobs.samples.front().first > history()))
    jobs.samples.pop_front();
  jobs.samples.emplace_back(now, gained);
}

// Faults and requests always; a failed scrape only with its trigger.
bool FlightRecorder::has_trigger(FlightCause cause) const {
  return cause != FlightCause::scrape_failed ||
         std::ranges::any_of(options_.triggers,
                             [cause](const FlightTrigger& trigger) { return trigger.cause == cause; });
}

void FlightRecorder::end_tick(Nanoseconds now) {
  for (FlightRequest& request : flights_->take_requests()) {
    if (request.time == Nanoseconds::zero()) request.time = now;
    if (!has_trigger(request.cause)) continue;
    if (request.cause == FlightCause::scrape_failed) {
      const Nanoseconds before = std::exchange(last_failed_scrape_, now);
      if (now - before < kStillFails && !pending_) continue;
    }
    const std::uint64_t more = request.more;
    begin(std::move(request), now, more);
  }
  if (!pending_ || now < pending_->due) return;
  Flight flight = frozen(pending_->event);
  flight.more_events = pending_->more;
  flight.frozen = now;
  pending_.reset();
  flights_->add(std::move(flight));
}

Flight FlightRecorder::frozen(const FlightEvent& event) const {
  Flight flight;
  flight.event = event;
  const Nanoseconds from = event.time - options_.length;
  const Nanoseconds to = event.time + kAfter;
  const auto add = [&](const Binding& binding) {
    Flight::Gpu gpu{binding.layout.device, columns_of(binding.layout), {}, {}};
    binding.frames.for_each(from, to, [&](const SampleFrame& frame) {
      gpu.samples.push_back({frame.time, to_string(frame.state), frame.missed});
      append_values(binding.layout, frame, gpu.values);
    });
    if (!gpu.samples.empty()) flight.gpus.push_back(std::move(gpu));
  };
  for (const auto& [device, gpu] : gpus_) {
    if (gpu.before) add(*gpu.before);
    add(gpu.now);
  }
  std::tie(flight.faults, flight.more_faults) = flights_->faults_between(from, to);
  add_own_line(flight);
  const std::lock_guard lock(mutex_);
  for (const auto& [device, clients] : clients_)
    for (const auto& [serial, client] : clients)
      if (client.last >= from && client.first <= to) flight.clients.push_back(client);
  std::ranges::sort(flight.clients, [](const Flight::Client& a, const Flight::Client& b) {
    return std::tie(a.device, a.first, a.pid, a.id) < std::tie(b.device, b.first, b.pid, b.id);
  });
  if (left_out_at_ >= from) flight.more_clients = clients_left_out_;
  for (const auto& [device, jobs] : jobs_) add_jobs(device, jobs, from, to, flight);
  return flight;
}

void FlightRecorder::add_jobs(const std::string& device, const CountedJobs& jobs, Nanoseconds from, Nanoseconds to,
                              Flight& flight) {
  Flight::Gpu counted{device, {}, {}, {}};
  for (std::size_t i = 0; i < kJobClasses; ++i) {
    if (!jobs.last[i]) continue;
    const std::string name(igpu::to_string(static_cast<JobClass>(i)));
    counted.columns.push_back({name + " jobs", "jobs"});
    counted.columns.push_back({name + " jobs queued for", "seconds"});
    counted.columns.push_back({name + " jobs ran for", "seconds"});
  }
  for (const auto& [time, sums] : jobs.samples) {
    if (time < from || time > to) continue;
    counted.samples.push_back({time, "scraped", 0});
    for (std::size_t i = 0; i < kJobClasses; ++i) {
      if (!jobs.last[i]) continue;
      const JobSums none{std::nan(""), std::nan(""), std::nan("")};
      const JobSums& sum = sums[i] ? *sums[i] : none;
      for (const double value : {sum.jobs, sum.queue_seconds, sum.run_seconds})
        counted.values.push_back(static_cast<float>(value));
    }
  }
  if (!counted.columns.empty() && !counted.samples.empty()) flight.gpus.push_back(std::move(counted));
}

}  // namespace igpu::sampling
