// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/reading.h"
#include "igpu/units.h"
#include "machine/machine.h"
#include "machine/sysman.h"

// A GPU's sensors that Windows itself does not report, from Level Zero's Sysman (machine/sysman.h). A value that is out
// of bounds is a Failure; values that drivers are known to report wrongly, such as a temperature of 0, are Absent.
namespace igpu {

// The outcome of every query without --collector.sysman.
inline constexpr Absent kSysmanIsOff{Reason::disabled, ECANCELED};

class SysmanGpu {
 public:
  SysmanGpu(const Machine& machine, const Gpu& gpu, bool enabled)
      : machine_(machine), address_(gpu.address), enabled_(enabled) {}

  struct Energy {
    std::string_view domain;  // unique
    Reading<std::uint64_t> microjoules = Absent{};
  };
  Reading<std::vector<Energy>> energies();

  struct Temperature {
    std::string_view sensor;  // "gpu", "vram"; unique
    Reading<Celsius> value = Absent{};
  };
  Reading<std::vector<Temperature>> temperatures();

  Reading<std::vector<Reading<Rpm>>> fans();

  // Sum over all modules of the card's memory. Absent: a module has no counter, or nothing was counted.
  Reading<SysmanBytes> traffic();

 private:
  Reading<SysmanDevice*> device();

  const Machine& machine_;
  const std::string address_;
  const bool enabled_;
  std::shared_ptr<SysmanDevice> device_;
};

}  // namespace igpu
