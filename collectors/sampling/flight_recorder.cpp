// SPDX-License-Identifier: Apache-2.0
#include "sampling/flight_recorder.h"

#include <algorithm>

#include "sampling/engine_statistics.h"
#include "sampling/sampler.h"

namespace igpu::sampling {
namespace {

std::string_view to_string(GpuState state) {
  switch (state) {
    case GpuState::sampled:
      return "sampled";
    case GpuState::sleeping:
      return "sleeping";
    case GpuState::gone:
      return "gone";
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

void FlightRecorder::add(const FrameLayout& layout, const SampleFrame& frame) {
  if (options_.triggers.empty()) return;
  auto known = holds_.find(layout.device);
  if (frame.state == GpuState::gone) {
    if (known != holds_.end()) holds_.erase(known);
    return;
  }
  if (known == holds_.end()) known = holds_.emplace(layout.device, options_.triggers.size()).first;
  for (std::size_t t = 0; t < options_.triggers.size(); ++t) {
    const FlightTrigger& trigger = options_.triggers[t];
    Holds& holds = known->second[t];
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

void FlightRecorder::begin(FlightEvent event, Nanoseconds now) {
  if (pending_) {
    ++pending_->more;
    return;
  }
  const Nanoseconds due = std::max(event.time + kAfter, now + kSettles);
  pending_ = Pending{std::move(event), due};
}

void FlightRecorder::see_clients(const ClientSnapshot& snapshot) {
  const std::lock_guard lock(mutex_);
  for (const DrmClient& client : snapshot.clients) {
    const auto known = std::find_if(clients_.begin(), clients_.end(), [&client](const auto& one) {
      return one.first == client.serial && one.second.device == client.device;
    });
    if (known != clients_.end()) {
      known->second.last = snapshot.time;
    } else if (clients_.size() < kMostClients) {
      const ClientProcess* const process = snapshot.process(client.pid);
      clients_.push_back({client.serial,
                          {client.device, client.id, client.pid, process != nullptr ? process->comm : std::string(),
                           snapshot.time, snapshot.time}});
    }
  }
  std::erase_if(clients_, [&](const auto& one) { return snapshot.time - one.second.last > history(); });
}

// Faults and requests always; a failed scrape only with its trigger.
bool FlightRecorder::wants(FlightCause cause) const {
  return cause != FlightCause::scrape_failed ||
         std::any_of(options_.triggers.begin(), options_.triggers.end(),
                     [cause](const FlightTrigger& trigger) { return trigger.cause == cause; });
}

void FlightRecorder::end_tick(Nanoseconds now, const Sampler& sampler) {
  for (FlightEvent& event : flights_->take_requests()) {
    if (event.time == Nanoseconds::zero()) event.time = now;
    if (wants(event.cause)) begin(std::move(event), now);
  }
  if (!pending_ || now < pending_->due) return;
  Flight flight = frozen(pending_->event, sampler);
  flight.more_events = pending_->more;
  flight.frozen = now;
  pending_.reset();
  flights_->add(std::move(flight));
}

Flight FlightRecorder::frozen(const FlightEvent& event, const Sampler& sampler) const {
  Flight flight;
  flight.event = event;
  const Nanoseconds from = event.time - options_.length;
  const Nanoseconds to = event.time + kAfter;
  sampler.for_last(history(), [&](const FrameLayout& layout, const SampleFrame& frame) {
    if (frame.time < from || frame.time > to) return;
    if (flight.gpus.empty() || flight.gpus.back().device != layout.device)
      flight.gpus.push_back({layout.device, columns_of(layout), {}, {}});
    Flight::Gpu& gpu = flight.gpus.back();
    gpu.samples.push_back({frame.time, to_string(frame.state), frame.missed});
    append_values(layout, frame, gpu.values);
  });
  flight.faults = flights_->faults_between(from, to);
  const std::lock_guard lock(mutex_);
  for (const auto& [serial, client] : clients_)
    if (client.last >= from && client.first <= to) flight.clients.push_back(client);
  return flight;
}

}  // namespace igpu::sampling
