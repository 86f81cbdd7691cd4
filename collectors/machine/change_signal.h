// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/device_users.h"

namespace igpu {

// Users of a device whose changes can be waited for. Any thread, also while another one calls DeviceUsers.
class ChangeSignal {
 public:
  virtual ~ChangeSignal() = default;
  // Waits for a change after those that DeviceUsers::changes() returned last. False: interrupted, now or before.
  virtual bool wait() = 0;
  virtual void interrupt() = 0;
};

// Null: the kernel reports no changes.
inline ChangeSignal* change_signal_of(DeviceUsers* users) {
  return users && users->reports_changes() ? dynamic_cast<ChangeSignal*>(users) : nullptr;
}

}  // namespace igpu
