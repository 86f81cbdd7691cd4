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

// A GPU's sensors as Level Zero's Sysman tells them (machine/sysman.h): what Windows itself does not tell. Whatever a
// driver says is bounded here; what it is known to say wrongly is not used: a temperature of 0 is none.
namespace igpu {

// Why nothing is asked of it: --collector.sysman is not given.
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

  // Of all modules of the card's memory; Absent: none, or one that does not count.
  Reading<SysmanBytes> traffic();

 private:
  Reading<SysmanDevice*> device();

  const Machine& machine_;
  const std::string address_;
  const bool enabled_;
  std::shared_ptr<SysmanDevice> device_;
};

}  // namespace igpu
