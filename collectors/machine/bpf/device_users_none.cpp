// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include "machine/device_users.h"

// In a build without BPF (-DIGPU_BPF=OFF).
namespace igpu {

Reading<std::unique_ptr<DeviceUsers>> open_device_users(const DeviceMajors&, const std::string&) {
  return Absent{Reason::disabled, ENOSYS};
}

}  // namespace igpu
