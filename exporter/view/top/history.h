// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "view/top/host_frame.h"

namespace igpu::exporter::top {

// The most recent busy ratios of every engine, and those of the last quarter of an hour by class.
class History {
 public:
  using Values = std::deque<std::optional<double>>;  // the newest is last; nullopt: not measured

  // host: index of the host. Adds one value for each engine; nullopt for a known engine that is not in the frame.
  void add(std::size_t host, const HostFrame& frame);
  const Values& of(std::size_t host, const GpuModel& gpu, const snapshot::Engine& engine) const;

  struct Reading {
    std::chrono::nanoseconds at;  // as HostFrame::time
    ClassRatios ratios;
  };
  using Classes = std::deque<Reading>;                                            // the newest is last
  const Classes& classes_of(std::size_t host, const std::string& address) const;  // an NPU's are in compute

 private:
  static constexpr std::size_t kKept = 240, kKeptOfClasses = 1800;

  struct Kept {
    Values values;
    bool added = false;
  };
  static std::string key(const GpuModel& gpu, const snapshot::Engine& engine);

  std::map<std::size_t, std::map<std::string, Kept>> hosts_;
  std::map<std::pair<std::size_t, std::string>, Classes> classes_;  // by host and address of the GPU or NPU
};

}  // namespace igpu::exporter::top
