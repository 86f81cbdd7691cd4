// SPDX-License-Identifier: Apache-2.0
#include "collector/sampling/gpu_reader.h"

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

namespace igpu::sampling {
namespace {

using namespace std::chrono_literals;

constexpr Nanoseconds kSearchAgain = 5s;
constexpr unsigned kSearches = 12;  // for a minute; what is missing then is missing until the GPU is rebound
constexpr Nanoseconds kRetryRefused = 10s;
constexpr Nanoseconds kCheckPmu = 1s;  // whether it is still the same one

// A user of the GPU's power is one that stays for so long: the readings of a scrape are users too, for milliseconds.
constexpr Nanoseconds kStays = 1s;
// Work that ended longer ago than this does not keep the GPU awake. The idle timer of i915 takes ten times as long.
constexpr Nanoseconds kJustWorked = 1s;
// Energy over a longer time says nothing about a peak. Ticks are at most ten seconds apart.
constexpr Nanoseconds kLongestPowerWindow = 15s;

}  // namespace

GpuReader::GpuReader(Machine& machine, AccessibleGpu gpu)
    : machine_(machine),
      gpu_(std::move(gpu)),
      enabled_vfs_(machine.sys, gpu_.gpu),
      energy_(machine, memory_, gpu_.gpu, kRetryRefused) {
  layout_.device = gpu_.gpu.address;
  pmu_ = std::make_unique<PmuSession>(
      machine_, memory_,
      gpu_pmu_name(machine_.sys, to_string(gpu_.gpu.driver), gpu_.gpu.address, stands_for_package(gpu_.gpu)));
}

bool GpuReader::read(SampleFrame& frame) {
  frame.clear();
  frame.time = machine_.clock.now();
  const bool gone = gpu_.access->gone();
  const PowerStatus power = gone ? PowerStatus{.suspended = true, .users = Absent{}} : gpu_.access->power_status();
  if (power.suspended) {
    stop_reading();
    frame.state = gone ? GpuState::gone : GpuState::sleeping;
    return !std::exchange(layout_changed_, false);
  }
  if (engines_.empty()) find_engines_in_time(frame.time);
  read_engines(frame);
  const bool awake_anyway = stays_awake(power, frame);
  if (gts_.empty() && gt_search_.is_due(frame.time)) find_gts();
  if (awake_anyway && !listed_reasons_ && !gts_.empty()) list_throttle_reasons();
  if (awake_anyway || may_have_clock(frame)) read_gts(frame, awake_anyway);
  // RAPL is not the GPU's own.
  if (awake_anyway || gpu_.gpu.kind == GpuKind::integrated) {
    if ((!energy_.found() || energy_.unreadable()) && domain_search_.is_due(frame.time)) energy_.find();
    read_energy(frame);
  }
  return !std::exchange(layout_changed_, false);
}

bool GpuReader::Search::is_due(Nanoseconds now) {
  if (done == kSearches || now < next) return false;
  next = now + kSearchAgain;
  ++done;
  return true;
}

// Whether something else keeps the GPU awake. Called before anything is read that would be a user itself, so `power`
// has no user of this thread, unless the PMU of xe is open.
bool GpuReader::stays_awake(const PowerStatus& power, const SampleFrame& frame) {
  if (gpu_.gpu.driver == Driver::xe && (pmu_->is_open() || gpu_.access->pmu_is_open())) {
    users_since_.reset();
    return true;
  }
  if (!power.users || *power.users == 0) {
    users_since_.reset();
  } else if (!users_since_) {
    users_since_ = frame.time;
  }
  if (users_since_ && frame.time - *users_since_ >= kStays) return true;
  const double window = to_seconds(frame.engine_window).value;
  // The time without work bounds how long ago the last work was.
  const std::span known = std::span(frame.engine_busy).first(engines_.size());
  return std::ranges::any_of(known, [window](float busy) {
    return busy > 0 && (1 - static_cast<double>(busy)) * window <= to_seconds(kJustWorked).value;
  });
}

// i915 reads the actual frequency only of a GPU that is in use, so that needs no other evidence. A GPU whose engines
// are known to be idle has no clock worth a sample.
bool GpuReader::may_have_clock(const SampleFrame& frame) const {
  if (gpu_.gpu.driver != Driver::i915) return false;
  const std::span all = std::span(frame.engine_busy).first(engines_.size());
  const bool works = std::ranges::any_of(all, [](float busy) { return busy > 0; });
  return works || std::ranges::none_of(all, [](float busy) { return is_value(busy); });
}

// The next values have nothing to be compared with. An open event of i915 does not keep the GPU awake.
void GpuReader::stop_reading() {
  if (gpu_.gpu.driver == Driver::xe || gpu_.access->gone()) pmu_->close();
  for (Engine& engine : engines_) engine.restart();
  for (Domain& domain : domains_) domain.last_time.reset();
  users_since_.reset();
}

void GpuReader::find_engines_in_time(Nanoseconds now) {
  const bool may_open = pmu_may_be_open();
  if (may_open && !std::exchange(could_open_pmu_, may_open)) engine_search_ = {};
  if (!may_open) {
    could_open_pmu_ = false;
    outcome_.reset();
  } else if (engine_search_.is_due(now)) {
    find_engines();
  }
}

void GpuReader::find_engines() {
  const auto add = [&](std::string gt, std::string name, EngineClass engine_class, Engine engine) {
    if (engines_.size() == kEngines) return;
    engines_.push_back(engine);
    layout_.engines.push_back({std::move(gt), std::move(name), names_of(engine_class).label});
    layout_changed_ = true;
  };
  if (gpu_.gpu.driver == Driver::i915) {
    const auto events = pmu_->events();
    outcome_ = events ? Reading<Unit>(Absent{Reason::kernel, ENOENT}) : events.propagate<Unit>();
    if (!events) return;
    for (const I915EngineEvent& event : i915_engine_events(*events))
      if (event.kind == "busy")
        add(std::string(event.gt), event.engine, event.engine_class, {EventGain(pmu_->want(event.event)), {}});
    return;
  }
  const auto engines = xe_pmu_engines(machine_, gpu_.gpu, *pmu_, false);
  outcome_ = engines ? Reading<Unit>(Absent{Reason::kernel, ENOENT}) : engines.propagate<Unit>();
  if (!engines) return;
  for (const EngineInstance& engine : *engines)
    add(std::to_string(engine.gt), xe_engine_name(engine), engine.engine_class,
        {EventGain(pmu_->want(kXeActiveTicks, xe_engine_terms(engine))),
         EventGain(pmu_->want(kXeTotalTicks, xe_engine_terms(engine))), engine});
  functions_ = {};  // of the new engines none is counted yet
}

// Before a reading.
void GpuReader::follow_functions() {
  if (gpu_.gpu.driver != Driver::xe || gpu_.gpu.virtual_function) return;
  const auto counted = enabled_vfs_.counted();
  if (!counted || std::exchange(functions_, *counted) == *counted) return;
  pmu_->close();
  hertz_.reset();
  if (functions_.number > 0) hertz_ = xe_reference_clock(machine_.drm, gpu_.gpu.render_node);
  for (Engine& engine : engines_) {
    for (const EventGain& function : engine.functions) pmu_->drop(function.handle());
    engine.functions.clear();
    for (std::uint32_t vf = 1; vf <= functions_.number; ++vf)
      engine.functions.emplace_back(pmu_->want(kXeActiveTicks, xe_engine_terms(engine.instance, vf)));
  }
}

void GpuReader::find_gts() {
  gts_ = GtSysfs::find(machine_.sys, gpu_.gpu);
  if (gts_.size() > kGts) gts_.erase(gts_.begin() + kGts, gts_.end());
  for (const GtSysfs& gt : gts_) layout_.gts.push_back(gt.id());
  layout_changed_ = true;
}

void GpuReader::list_throttle_reasons() {
  listed_reasons_ = true;
  for (std::size_t i = 0; i < gts_.size(); ++i) {
    const auto listed = gts_[i].throttle([this](std::string_view reason, bool) { (void)reason_index(reason); });
    if (!listed.is_absent()) layout_.throttle_known |= std::uint64_t{1} << i;
  }
  layout_changed_ = true;
}

// kReasons: there is no room for it.
std::size_t GpuReader::reason_index(std::string_view reason) {
  std::vector<std::string>& known = layout_.reasons;
  const auto at = std::ranges::find(known, reason);
  const auto index = static_cast<std::size_t>(at - known.begin());
  if (at != known.end() || index == kReasons) return index;
  known.emplace_back(reason);
  layout_changed_ = true;
  return index;
}

void GpuReader::read_engines(SampleFrame& frame) {
  if (engines_.empty()) return;
  const bool may_be_open = pmu_may_be_open();
  const bool wait = retry_pmu_at_ && frame.time < *retry_pmu_at_;
  if (!may_be_open || wait) {
    if (pmu_->is_open()) pmu_->close();
    if (!may_be_open) outcome_.reset();
    for (Engine& engine : engines_) engine.restart();
    return;
  }
  retry_pmu_at_.reset();
  follow_functions();
  const bool checks = frame.time - pmu_checked_at_ >= kCheckPmu;
  if (checks) pmu_checked_at_ = frame.time;
  outcome_ = checks ? pmu_->refresh(++pass_) : pmu_->reread(++pass_);
  if (!*outcome_) {
    if (!pmu_->is_open()) retry_pmu_at_ = frame.time + kRetryRefused;
    for (Engine& engine : engines_) engine.restart();
    return;
  }
  const Nanoseconds elapsed = pmu_->time() - pmu_time_;
  pmu_time_ = pmu_->time();
  if (std::exchange(generation_, pmu_->generation()) != pmu_->generation())
    for (Engine& engine : engines_) engine.restart();
  const PmuSession::Values values = pmu_->values();
  bool any = false;
  for (std::size_t i = 0; i < engines_.size(); ++i) {
    frame.engine_busy[i] = busy_of(engines_[i], values, elapsed);
    any = any || is_value(frame.engine_busy[i]);
  }
  if (any) frame.engine_window = elapsed;
}

float GpuReader::busy_of(Engine& engine, const PmuSession::Values& values, Nanoseconds elapsed) const {
  auto passed = static_cast<std::uint64_t>(elapsed.count());
  if (engine.total) {
    passed = engine.total->take(values) ? engine.total->in_window() : 0;
    if (passed != 0 && !engine.functions.empty()) passed = ticks_of_engine(passed, elapsed, hertz_);
  }
  bool is_known = engine.active.take(values) && passed != 0;
  std::uint64_t worked = engine.active.in_window();
  for (EventGain& function : engine.functions) {
    (void)function.take(values);
    is_known = is_known && !function.stepped_back();
    worked += function.in_window();
  }
  if (!is_known) {
    engine.busy.restart();
    return kNothing;
  }
  return static_cast<float>(static_cast<double>(engine.busy.in_time(worked, passed)) / static_cast<double>(passed));
}

void GpuReader::read_gts(SampleFrame& frame, bool stays_awake) {
  for (std::size_t i = 0; i < gts_.size(); ++i) {
    if (const auto actual = gts_[i].actual()) frame.hertz[i] = static_cast<float>(actual->value);
    if (!stays_awake || (layout_.throttle_known >> i & 1) == 0) continue;
    frame.throttle_read |= std::uint64_t{1} << i;
    if (frame.hertz[i] == 0) continue;  // nothing limits the clock of a GT that is parked
    const auto note = [this, &bits = frame.throttled[i]](std::string_view reason) {
      const std::size_t index = reason_index(reason);
      if (index < kReasons) bits |= std::uint64_t{1} << index;
    };
    (void)gts_[i].active_throttle(std::cref(note));
  }
}

std::size_t GpuReader::domain_index(const EnergySources::Domain& domain) {
  if (layout_.domains.size() == kDomains) return kDomains;
  layout_.domains.push_back({domain.name, domain.source});
  layout_changed_ = true;
  return layout_.domains.size() - 1;
}

void GpuReader::read_energy(SampleFrame& frame) {
  // Ticks come a little early or late.
  if (!energy_.found() || frame.time - energy_read_at_ < kPowerWindow - kPowerWindow / 16) return;
  energy_read_at_ = frame.time;
  energy_.read(++pass_);
  domains_.resize(energy_.domains().size());
  auto domain = domains_.begin();
  for (const EnergySources::Domain& read : energy_.domains()) {
    auto& [index, last_count, last_time] = *domain++;
    if (read.restarted || !read.outcome || !*read.outcome) last_time.reset();
    if (!read.outcome || !*read.outcome) continue;
    if (!index) index = domain_index(read);
    if (!read.has_counted || read.held || *index == kDomains) continue;
    const double used = read.joules(read.count - std::exchange(last_count, read.count));
    const double elapsed = to_seconds(read.time - std::exchange(last_time, read.time).value_or(read.time)).value;
    if (elapsed <= 0 || elapsed > to_seconds(kLongestPowerWindow).value) continue;
    if (used <= read.most.value * (elapsed + 0.25)) frame.watts[*index] = static_cast<float>(used / elapsed);
  }
}

}  // namespace igpu::sampling
