// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/units.h"
#include "kernel/device/drm_query.h"
#include "kernel/device/engine_class.h"
#include "machine/machine.h"

// A GPU as Windows' graphics kernel describes it (machine/gpu_adapters.h). Values of the driver are checked here: an
// impossible value is a Failure, one that means "not reported" is Absent.
namespace igpu {

class GpuAdapter;

// More than any driver has; a higher number is a Failure.
inline constexpr std::uint32_t kMostWddmNodes = 256;
inline constexpr std::uint32_t kMostWddmSegments = 64;

struct WddmEngine {
  std::uint32_t node = 0;
  std::string name;                         // "3D", "Copy", "Copy 1"; unique
  std::optional<EngineClass> engine_class;  // nullopt: Linux has no such class
  std::string_view class_label() const { return engine_class ? to_string(*engine_class) : "other"; }
};

struct WddmClock {
  Reading<Hertz> actual = Absent{}, max = Absent{};
};

struct WddmSensors {
  Reading<Celsius> temperature = Absent{};
  Reading<Rpm> fan = Absent{};
  Reading<Ratio> power = Absent{};  // of the power limit; may exceed 1
};

class WddmGpu {
 public:
  // gpu: its driver is Driver::wddm.
  WddmGpu(const Machine& machine, const Gpu& gpu);

  // Queried until the driver answers, then kept.
  Reading<const std::vector<WddmEngine>*> engines();
  // Busy time since the driver started.
  Reading<Nanoseconds> busy(const WddmEngine& engine);
  // Regions as Linux names them: vram0 (cards only) and system.
  Reading<std::vector<RegionUse>> memory();
  // The clock of the render engine.
  WddmClock clock();
  WddmSensors sensors();

 private:
  bool open();  // if it is not open yet; false: the adapter has gone

  GpuAdapters* adapters_;
  std::uint64_t binding_;
  std::shared_ptr<GpuAdapter> adapter_;
  GpuKind kind_;
  std::vector<WddmEngine> engines_;
};

// For WddmClients and ProcessEngineTimes, which read adapters and counters themselves.
Reading<std::vector<WddmEngine>> wddm_engines(GpuAdapter& adapter);
struct WddmSegment {
  std::uint32_t number = 0;
  bool aperture = false;
  std::uint64_t limit = 0, resident = 0;  // bytes
};
Reading<std::vector<WddmSegment>> wddm_segments(GpuAdapter& adapter);
Reading<Nanoseconds> wddm_time(const Reading<std::int64_t>& running);

}  // namespace igpu
