// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "top/host_frame.h"

namespace igpu::exporter::top {

// The most recent busy ratios of every engine.
class History {
 public:
  using Values = std::deque<std::optional<double>>;  // the newest is last; nullopt: not measured

  // host: index of the host. Adds one value for each engine; nullopt for a known engine that is not in the frame.
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
