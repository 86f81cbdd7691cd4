// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "igpu/unique_fd.h"
#include "machine/filesystem.h"
#include "machine/kernel_messages.h"

namespace igpu {
namespace {

constexpr std::uint32_t kKernelGroup = 1;      // udev sends its own messages to group 2
constexpr int kReceiveBytes = 1024 * 1024;     // the kernel limits it to net.core.rmem_max
constexpr std::string_view kLog = "dev/kmsg";  // for failures

class Uevents final : public KernelMessages {
 public:
  explicit Uevents(UniqueFd fd) : fd_(std::move(fd)) {}

  Reading<KernelMessage> next(std::span<char> buffer) override {
    for (;;) {
      sockaddr_nl from{};
      socklen_t from_size = sizeof(from);
      const ssize_t size = ::recvfrom(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT,
                                      reinterpret_cast<sockaddr*>(&from), &from_size);
      if (size < 0) {
        if (errno == EINTR) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return KernelMessage{};
        if (errno == ENOBUFS) return KernelMessage{KernelMessage::State::lost, {}};
        return outcome_of_errno<KernelMessage>(errno, "uevents");
      }
      KernelMessage message{KernelMessage::State::message, {}};
      // A program with rights over this network namespace can send to the group, too.
      if (from.nl_pid == 0) message.text = {buffer.data(), static_cast<std::size_t>(size)};
      return message;
    }
  }

 private:
  UniqueFd fd_;
};

class KernelLog final : public KernelMessages {
 public:
  explicit KernelLog(UniqueFd fd) : fd_(std::move(fd)) {}

  Reading<KernelMessage> next(std::span<char> buffer) override {
    for (;;) {
      const ssize_t size = ::read(fd_.get(), buffer.data(), buffer.size());
      if (size > 0)
        return KernelMessage{KernelMessage::State::message, {buffer.data(), static_cast<std::size_t>(size)}};
      if (size == 0 || errno == EAGAIN || errno == EWOULDBLOCK) return KernelMessage{};
      if (errno == EINTR) continue;
      if (errno == EPIPE) return KernelMessage{KernelMessage::State::lost, {}};
      return outcome_of_errno<KernelMessage>(errno, kLog);
    }
  }

 private:
  UniqueFd fd_;
};

}  // namespace

Reading<std::unique_ptr<KernelMessages>> open_uevents(bool in_initial_user_namespace) {
  if (!in_initial_user_namespace) return Absent{Reason::permission, EUSERS};
  UniqueFd fd(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = kKernelGroup;
  if (fd) (void)::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof(kReceiveBytes));
  if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    // What a service's RestrictAddressFamilies= or a seccomp profile denies; EPROTONOSUPPORT: not built into the
    // kernel.
    if (errno == EAFNOSUPPORT || errno == EPERM || errno == EACCES) return Absent{Reason::permission, errno};
    return Absent{Reason::kernel, errno};
  }
  return std::unique_ptr<KernelMessages>(std::make_unique<Uevents>(std::move(fd)));
}

Reading<std::unique_ptr<KernelMessages>> open_kernel_log(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd && errno == ENOENT) return Absent{Reason::permission, ENOENT};
  if (!fd) return outcome_of_errno<std::unique_ptr<KernelMessages>>(errno, kLog);
  return std::unique_ptr<KernelMessages>(std::make_unique<KernelLog>(std::move(fd)));
}

}  // namespace igpu
