// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/reading.h"

// Sysman, the part of Level Zero that reports a GPU's sensors (Level Zero specification 1.5, "Sysman"): the driver's
// own library, which runs in this process. The numbers are the driver's, unchecked and in its units;
// source/sysman_gpu.h makes values of them. Frequencies are not read: drivers give the clock of GDDR6 in transfers per
// second, eight times too large (github.com/oneapi-src/level-zero/issues/440).
//
// How ze_result_t becomes an outcome: machine/ze_result.h.
namespace igpu {

struct SysmanEnergy {
  std::uint32_t domain = 0;  // zes_power_domain_t; 0: not reported
  Reading<std::uint64_t> microjoules = Absent{};
};
struct SysmanTemperature {
  std::uint32_t sensor = 0;  // zes_temp_sensors_t
  Reading<double> celsius = Absent{};
};
struct SysmanBytes {
  std::uint64_t read = 0, written = 0;
};

// One GPU. Values of single tiles are left out. Any thread.
class SysmanDevice {
 public:
  virtual ~SysmanDevice() = default;
  virtual Reading<std::vector<SysmanEnergy>> energies() = 0;
  virtual Reading<std::vector<SysmanTemperature>> temperatures() = 0;
  virtual Reading<std::vector<Reading<std::int32_t>>> fans() = 0;     // rpm; -1: not known
  virtual Reading<std::vector<Reading<SysmanBytes>>> memories() = 0;  // modules of the card's own memory
};

class Sysman {
 public:
  virtual ~Sysman() = default;
  // pci_address: as Gpu::address. Nothing is loaded before the first call. Absent: the library or the GPU is not there.
  virtual Reading<std::shared_ptr<SysmanDevice>> device(std::string_view pci_address) = 0;
};

// Windows only: on Linux the kernel reports these sensors. library: the DLL that has the functions.
std::unique_ptr<Sysman> system_sysman(const std::string& library);

}  // namespace igpu
