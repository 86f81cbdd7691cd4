// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "igpu/reading.h"

// Engine time from Windows' performance counters: \GPU Engine(*)\Running Time, an instance for each engine that a
// process uses (pdh.h of the Windows SDK). An instance ends with its process. The numbers are unchecked;
// kernel/clients/wddm_clients.h makes values of them.
//
// How a status becomes an outcome: machine/windows_status.h.
namespace igpu {

struct EngineCounter {
  std::string instance;
  std::int64_t running = 0;  // 100 ns, of this process on this engine
};

class EngineCounters {
 public:
  virtual ~EngineCounters() = default;
  // Any thread. Nothing is loaded and no counter is opened before the first call.
  virtual Reading<std::vector<EngineCounter>> read() = 0;
};

// Windows only. library: the DLL that has the functions.
std::unique_ptr<EngineCounters> system_engine_counters(const std::string& library);

}  // namespace igpu
