// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "run/machine_parts.h"

// A machine all of whose files and calls are written down, and one of which can be made to go wrong.
namespace igpu::test {

enum class Fault { eio, enodev, eacces, enoent, eintr, short_read, empty, garbage, huge, blocks };
inline constexpr Fault kFaults[] = {Fault::eio,        Fault::enodev, Fault::eacces,  Fault::enoent, Fault::eintr,
                                    Fault::short_read, Fault::empty,  Fault::garbage, Fault::huge,   Fault::blocks};
std::string_view name_of(Fault fault);

// Which file or call, and what is done with it: "read sys/class/drm/card0/gt_min_freq_mhz".
using Operation = std::string;

class FaultInjector {
 public:
  void record() {
    const std::lock_guard lock(mutex_);
    recorded_.emplace();
  }
  std::vector<Operation> recorded() {  // each once, in the order of their first time
    const std::lock_guard lock(mutex_);
    std::vector<Operation> all = recorded_ ? std::move(*recorded_) : std::vector<Operation>();
    recorded_.reset();
    return all;
  }
  // The next such operation goes wrong, once.
  void arm(Operation operation, Fault fault) {
    const std::lock_guard lock(mutex_);
    armed_ = {std::move(operation), fault};
    hit_ = false;
  }
  void disarm() {
    const std::lock_guard lock(mutex_);
    armed_.reset();
  }
  bool hit() const {
    const std::lock_guard lock(mutex_);
    return hit_;
  }
  // Releases the blocked call. Returns when it has finished.
  void release() {
    std::unique_lock lock(mutex_);
    released_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return blocked_ == 0; });
    released_ = false;
  }

  // Called by the machine for each operation. A blocking fault blocks here and is then none.
  std::optional<Fault> happens(std::string_view what, std::string_view where);

 private:
  struct Armed {
    Operation operation;
    Fault fault;
  };
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::vector<Operation>> recorded_;
  std::optional<Armed> armed_;
  bool hit_ = false;
  bool released_ = false;
  int blocked_ = 0;
};

// The same machine, seen through the injector; both must outlive it.
std::shared_ptr<MachineParts> faulty_machine(Machine machine, FaultInjector& injector);

}  // namespace igpu::test
