// SPDX-License-Identifier: Apache-2.0
#include "kernel/windows/wddm.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <utility>

#include "machine/gpu_adapters.h"

namespace igpu {
namespace {

constexpr Absent kGone{Reason::kernel, ENODEV};
constexpr Absent kNotTold{Reason::kernel, 0};
// More than any GPU of the next years has: such a number is not one.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;
constexpr std::int64_t kLongestRunning = 10ll * 365 * 24 * 3600 * 10'000'000;  // ten years
constexpr std::uint64_t kMostHertz = 100'000'000'000;
constexpr std::uint32_t kMostDeciCelsius = 2000;
constexpr std::uint32_t kMostRpm = 100'000;
constexpr std::uint32_t kMostPower = 10'000;  // ten times the limit

Failure impossible(std::string_view what) {
  return {std::make_error_code(std::errc::result_out_of_range), "graphics adapter: " + std::string(what)};
}

struct EngineType {
  std::string_view name;
  std::optional<EngineClass> engine_class;
};
// DXGK_ENGINE_TYPE of d3dkmdt.h, with the names that Windows' task manager shows.
constexpr std::array<EngineType, 9> kTypes{{
    {"", std::nullopt},  // "other": has a name of its own
    {"3D", EngineClass::render},
    {"Video Decode", EngineClass::video},
    {"Video Encode", EngineClass::video},
    {"Video Processing", EngineClass::video_enhance},
    {"Scene Assembly", std::nullopt},
    {"Copy", EngineClass::copy},
    {"Overlay", std::nullopt},
    {"Crypto", std::nullopt},
}};

// Of a node whose type says nothing: drivers name their compute engines "Compute" or "Computing 0".
std::optional<EngineClass> class_of_name(std::string_view name) {
  if (name.starts_with("Comput")) return EngineClass::compute;
  for (const EngineType& type : kTypes)
    if (type.engine_class && name.starts_with(type.name)) return type.engine_class;
  return std::nullopt;
}

WddmEngine engine_of(std::uint32_t number, const Reading<AdapterNode>& node) {
  WddmEngine engine{number, {}, std::nullopt};
  if (node) {
    engine.name = node->name;
    if (node->type < kTypes.size()) {
      const EngineType& type = kTypes[node->type];
      if (!type.name.empty()) engine.name = type.name;
      engine.engine_class = type.engine_class;
    }
    if (!engine.engine_class) engine.engine_class = class_of_name(engine.name);
  }
  if (engine.name.empty()) engine.name = "Node " + std::to_string(number);
  return engine;
}

// The second of a name gets a 1, as in the task manager.
void make_unique(std::vector<WddmEngine>& engines) {
  std::set<std::string> taken;
  for (WddmEngine& engine : engines) {
    const std::string name = engine.name;
    for (unsigned number = 1; !taken.insert(engine.name).second; ++number)
      engine.name = name + " " + std::to_string(number);
  }
}

template <class T>
Reading<T> told(std::uint64_t value, std::uint64_t most, double per_unit, std::string_view what) {
  if (value == 0) return kNotTold;
  if (value > most) return impossible(what);
  return T{static_cast<double>(value) / per_unit};
}

}  // namespace

Reading<Nanoseconds> wddm_time(const Reading<std::int64_t>& running) {
  if (!running) return running.propagate<Nanoseconds>();
  if (*running < 0 || *running > kLongestRunning) return impossible("running time");
  return Nanoseconds(*running * 100);
}

// A node whose kind is not told still has its time.
Reading<std::vector<WddmEngine>> wddm_engines(GpuAdapter& adapter) {
  const auto counts = adapter.counts();
  if (!counts) return counts.propagate<std::vector<WddmEngine>>();
  if (counts->nodes > kMostWddmNodes) return impossible("number of nodes");
  if (counts->nodes == 0) return kNotTold;
  std::vector<WddmEngine> engines;
  engines.reserve(counts->nodes);
  for (std::uint32_t node = 0; node < counts->nodes; ++node) {
    const auto described = adapter.node(node);
    if (described.is_absent() && described.absent() == kGone) return kGone;
    engines.push_back(engine_of(node, described));
  }
  make_unique(engines);
  return engines;
}

Reading<std::vector<WddmSegment>> wddm_segments(GpuAdapter& adapter) {
  const auto counts = adapter.counts();
  if (!counts) return counts.propagate<std::vector<WddmSegment>>();
  if (counts->segments > kMostWddmSegments) return impossible("number of segments");
  std::vector<WddmSegment> segments;
  for (std::uint32_t number = 0; number < counts->segments; ++number) {
    const auto segment = adapter.segment(number);
    if (!segment) return segment.propagate<std::vector<WddmSegment>>();
    if (segment->limit > kMostBytes || segment->resident > kMostBytes) return impossible("size of a segment");
    segments.push_back({number, segment->aperture, segment->limit, segment->resident});
  }
  return segments;
}

WddmGpu::WddmGpu(const Machine& machine, const Gpu& gpu)
    : adapters_(machine.adapters), binding_(gpu.binding), kind_(gpu.kind) {}

bool WddmGpu::open() {
  if (!adapter_ && adapters_ != nullptr) adapter_ = adapters_->open(binding_);
  return adapter_ != nullptr;
}

Reading<const std::vector<WddmEngine>*> WddmGpu::engines() {
  if (!open()) return kGone;
  if (engines_.empty()) {
    auto found = wddm_engines(*adapter_);
    if (!found) return found.propagate<const std::vector<WddmEngine>*>();
    engines_ = *std::move(found);
  }
  return static_cast<const std::vector<WddmEngine>*>(&engines_);
}

Reading<Nanoseconds> WddmGpu::busy(const WddmEngine& engine) {
  if (!open()) return kGone;
  return wddm_time(adapter_->running(engine.node));
}

// Segments of a card that are no aperture are its own memory. Those of an integrated GPU are a part of main memory that
// firmware set aside; what it uses is in the apertures.
Reading<std::vector<RegionUse>> WddmGpu::memory() {
  if (!open()) return kGone;
  const auto segments = wddm_segments(*adapter_);
  if (!segments) return segments.propagate<std::vector<RegionUse>>();
  struct Sum {
    std::uint64_t limit = 0, resident = 0;
  } own, shared;
  for (const WddmSegment& segment : *segments) {
    Sum& sum = segment.aperture ? shared : own;
    sum.limit += segment.limit;
    sum.resident += segment.resident;
  }
  // The number that Windows itself shows, where it is told: several apertures may show the same memory.
  if (const auto sizes = adapter_->memory(); sizes && sizes->shared > 0 && sizes->shared <= kMostBytes)
    shared.limit = sizes->shared;
  std::vector<RegionUse> regions;
  const auto add = [&](const char* name, const Sum& sum) {
    if (sum.limit == 0) return;
    regions.push_back(
        {name, Bytes{static_cast<double>(sum.limit)}, Bytes{static_cast<double>(std::min(sum.resident, sum.limit))}});
  };
  if (kind_ == GpuKind::discrete) add("vram0", own);
  add("system", shared);
  if (regions.empty()) return kNotTold;
  return regions;
}

WddmClock WddmGpu::clock() {
  WddmClock clock;
  const auto known = engines();
  if (!known) return {known.propagate<Hertz>(), known.propagate<Hertz>()};
  const auto renders = [](const WddmEngine& engine) { return engine.engine_class == EngineClass::render; };
  const auto at = std::find_if((*known)->begin(), (*known)->end(), renders);
  if (at == (*known)->end()) return {kNotTold, kNotTold};
  const auto told_clock = adapter_->clock(at->node);
  if (!told_clock) return {told_clock.propagate<Hertz>(), told_clock.propagate<Hertz>()};
  return {told<Hertz>(told_clock->hertz, kMostHertz, 1, "frequency"),
          told<Hertz>(told_clock->max_hertz, kMostHertz, 1, "highest frequency")};
}

WddmSensors WddmGpu::sensors() {
  if (!open()) return {kGone, kGone, kGone};
  const auto sensors = adapter_->sensors();
  if (!sensors) return {sensors.propagate<Celsius>(), sensors.propagate<Rpm>(), sensors.propagate<Ratio>()};
  return {told<Celsius>(sensors->deci_celsius, kMostDeciCelsius, 10, "temperature"),
          told<Rpm>(sensors->fan_rpm, kMostRpm, 1, "fan speed"),
          told<Ratio>(sensors->power, kMostPower, 1000, "power")};
}

}  // namespace igpu
