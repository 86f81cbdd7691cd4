// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "top/frame.h"

namespace igpu::exporter::top {

// The last busy ratios of every engine.
class History {
 public:
  using Values = std::deque<std::optional<double>>;  // the newest is last; nullopt: there was none

  // host: its index in the frame. One value is added for each engine; those that the frame lacks get none.
  void add(std::size_t host, const HostFrame& frame);
  const Values& of(std::size_t host, const GpuModel& gpu, const snapshot::Engine& engine) const;

 private:
  static constexpr std::size_t kKept = 240;

  struct Kept {
    Values values;
    bool added = false;
  };
  static std::string key(const GpuModel& gpu, const snapshot::Engine& engine);

  std::map<std::size_t, std::map<std::string, Kept>> hosts_;
};

}  // namespace igpu::exporter::top
