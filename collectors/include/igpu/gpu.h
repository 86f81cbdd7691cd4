// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/error.h"
#include "igpu/export.h"
#include "igpu/log.h"
#include "igpu/snapshot.h"
#include "igpu/units.h"

// Reading one Intel GPU from a program:
//
//   igpu::OpenGpu gpu = igpu::Gpu::detect();           // or Gpu::open("card1"), Gpu::open("0000:03:00.0")
//   igpu::Snapshot now = gpu.read();
//   if (auto busy = now.busy(igpu::EngineClass::video)) draw(busy->value);
//
// No thread, no signal handler, no global state. igpu/sampling.h samples continuously.
//
// Gpu::list()    the GPUs bound to i915 or xe, by PCI address; none is an empty list. Opens no event.
// Gpu::detect()  the first of them. Throws NoGpu.
// Gpu::open()    the one with this name: "0000:03:00.0", "card1", "renderD128", "/dev/dri/renderD128",
//                "/dev/dri/by-path/...", or a path of it below /sys. Throws NoGpu or NoSuchGpu.
// All of them throw InvalidOption.
namespace igpu {

struct GpuOptions {
  std::string sysfs_root = "/sys";
  std::string procfs_root = "/proc";
  std::string devfs_root = "/dev";
  std::string simulate;  // a simulated machine in place of the real one, for tests: "rack", "arc-a770", ...

  // Whether to read which processes use the GPU: most of the time of a read() on a machine with many processes.
  bool processes = true;
  // Collectors that are not to run, as METRICS.md names them: "imc", "pcie". Their values are Absent{disabled}.
  std::vector<std::string> without_collectors;
  // The shortest window of ratios, means and watts. The first read() waits until this time has passed since the GPU was
  // opened.
  Nanoseconds min_window = std::chrono::milliseconds(100);
  Log* log = nullptr;  // must outlive what is opened with it; null: nothing is logged
};

// An open GPU. Holds files and perf events until it is destroyed. After fork() the child opens the GPU again at its
// first read(); it shares nothing with the parent.
class IGPU_API OpenGpu {
 public:
  OpenGpu(OpenGpu&&) noexcept;
  OpenGpu& operator=(OpenGpu&&) noexcept;
  ~OpenGpu();

  // Any thread, one at a time: others wait. Runs on the calling thread and takes as long as the kernel takes to answer,
  // usually less than a millisecond; the first one waits for min_window. Throws GpuGone.
  //
  // Energy counters wrap around; a card's 262,144 J last 4.4 minutes at 1 kW. Reading every two minutes is often
  // enough. A read() after a longer pause measures a new window of min_window, so its values are right; Power::energy
  // may lack a wraparound.
  Snapshot read();

  Gpu info() const;  // as of the last read()

  struct State;
  explicit OpenGpu(std::unique_ptr<State> state) noexcept;  // for Gpu

 private:
  std::unique_ptr<State> state_;
};

}  // namespace igpu
