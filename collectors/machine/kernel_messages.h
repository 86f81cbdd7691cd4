// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "igpu/reading.h"

// Queues of messages that the kernel keeps for its readers: uevents and the kernel log. Reading never waits, wakes no
// device, and takes nothing from other readers.
namespace igpu {

struct KernelMessage {
  enum class State {
    message,
    none,  // all messages have been read
    lost,  // some were overwritten before they were read; the next ones follow
  };
  State state = State::none;
  std::string_view text;  // in the buffer of the call
};

class KernelMessages {
 public:
  static constexpr std::size_t kLongest = 16384;  // bytes; the kernel's own limits are half of it

  virtual ~KernelMessages() = default;
  // buffer: kLongest bytes.
  virtual Reading<KernelMessage> next(std::span<char> buffer) = 0;
};

// Of a machine that is not a real one.
class NoMessages final : public KernelMessages {
 public:
  Reading<KernelMessage> next(std::span<char>) override { return KernelMessage{}; }
};

// Whether this is the kernel's own sysfs, so that its uevents are about the devices in it.
bool is_sysfs(const std::string& folder);

// Uevents of the kernel (lib/kobject_uevent.c): NUL-terminated texts, "change@/devices/..." first. Needs no right. Only
// network namespaces of the initial user namespace receive them: in another one it is Absent{permission, EUSERS}.
Reading<std::unique_ptr<KernelMessages>> open_uevents(bool in_initial_user_namespace);

// /dev/kmsg (Documentation/ABI/testing/dev-kmsg), from the oldest record. Needs CAP_SYSLOG, or kernel.dmesg_restrict=0,
// when it is opened, and not later. Absent{permission, ENOENT}: this container was not given the file.
Reading<std::unique_ptr<KernelMessages>> open_kernel_log(const std::string& path);

}  // namespace igpu
