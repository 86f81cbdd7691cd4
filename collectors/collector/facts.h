// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

namespace igpu {

// What collectors report to each other in a scrape. A fact is a struct in the header <topic>_facts.h of the collector
// that makes it. Only its maker and its users know the type, and users run later in the list of collectors:
//
//   pass.facts().put(gpu_.address, EngineSeconds{...});                        // a measurement, by the engines
//   if (const auto busy = pass.facts().get<EngineSeconds>(gpu.address)) ...    // of this scrape, else null
//   pass.facts().post(ProcessHang{...});                                       // an event, by health
//   for (const ProcessHang& hang : pass.facts().take<ProcessHang>()) ...       // since the last take
//
// A measurement ends with its scrape. An event waits until it is taken, in this or a later scrape. Facts stay when
// their maker fails afterwards. Any thread: a collector that hangs may put a fact after its run was given up.
class FactBoard {
 public:
  static constexpr std::size_t kMostWaiting = 1024;  // events of a type that no collector takes; the oldest are dropped

  // Events that wait. Outlives the boards of all scrapes.
  struct Waiting {
    std::mutex mutex;
    std::map<std::type_index, std::shared_ptr<void>> lists;  // std::vector<T>, by T
  };
  explicit FactBoard(Waiting& waiting) : waiting_(waiting) { measured_.reserve(16); }

  // device: PCI address; "": the machine. Replaces the fact of the same type and device.
  template <class T>
  void put(std::string_view device, T fact) {
    auto made = std::make_shared<const T>(std::move(fact));
    const std::lock_guard lock(mutex_);
    const auto known = find(typeid(T), device);
    if (known != measured_.end())
      known->fact = std::move(made);
    else
      measured_.push_back({typeid(T), std::string(device), std::move(made)});
  }
  template <class T>
  std::shared_ptr<const T> get(std::string_view device = {}) {
    const std::lock_guard lock(mutex_);
    const auto known = find(typeid(T), device);
    return known == measured_.end() ? nullptr : std::static_pointer_cast<const T>(known->fact);
  }
  // Of all devices. Copies the facts.
  template <class T>
  std::map<std::string, T> by_device() {
    std::map<std::string, T> all;
    const std::lock_guard lock(mutex_);
    for (const Measured& one : measured_)
      if (one.type == typeid(T)) all.emplace(one.device, *static_cast<const T*>(one.fact.get()));
    return all;
  }

  template <class T>
  void post(T event) {
    const std::lock_guard lock(waiting_.mutex);
    std::shared_ptr<void>& list = waiting_.lists[typeid(T)];
    if (!list) list = std::make_shared<std::vector<T>>();
    auto& events = *static_cast<std::vector<T>*>(list.get());
    if (events.size() == kMostWaiting) events.erase(events.begin());
    events.push_back(std::move(event));
  }
  template <class T>
  std::vector<T> take() {
    const std::lock_guard lock(waiting_.mutex);
    const auto list = waiting_.lists.find(typeid(T));
    if (list == waiting_.lists.end()) return {};
    return std::exchange(*static_cast<std::vector<T>*>(list->second.get()), {});
  }

 private:
  struct Measured {
    std::type_index type;
    std::string device;
    std::shared_ptr<const void> fact;
  };
  std::vector<Measured>::iterator find(std::type_index type, std::string_view device) {
    return std::ranges::find_if(measured_,
                                [&](const Measured& one) { return one.type == type && one.device == device; });
  }

  Waiting& waiting_;
  std::mutex mutex_;
  std::vector<Measured> measured_;  // a few for each GPU
};

}  // namespace igpu
