// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>

#include "igpu/page.h"
#include "igpu/units.h"

namespace igpu::exporter {

// Readings of one GPU as `intel_gpu_top -J` of igt 1.28 and later prints them: the same keys in the same order, units,
// indentation, numbers with six decimals, and an array that ends when the program does. Under xe too, which the
// original does not support.
//
// The original's rules for what is missing hold here as well: a group without any counter is omitted (power of a card,
// interrupts of xe), a missing member of a group is 0.000000 (sema and wait of xe), and a client has engine-classes
// from its second reading on. Engines are averaged by class. Under xe, frequencies are those of the moment: the driver
// has no mean. "imc-bandwidth" is present on more processors than the original knows.
class IntelGpuTopJson {
 public:
  explicit IntelGpuTopJson(std::string device) : device_(std::move(device)) {}

  // elapsed: as GaugeColumns::each.
  void write(const PageView& page, Nanoseconds elapsed, std::string& out);
  void finish(std::string& out);

 private:
  using PidAndClass = std::pair<std::string, std::string>;

  std::string device_;
  bool started_ = false;
  double interrupts_ = 0;
  std::map<std::string, double> imc_bytes_;       // by direction
  std::map<PidAndClass, double> client_seconds_;  // of the previous reading
};

}  // namespace igpu::exporter
