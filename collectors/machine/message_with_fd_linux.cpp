// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "igpu/unique_fd.h"

namespace igpu {
namespace {

union Ancillary {  // aligned, as cmsg(3) asks for
  cmsghdr header;
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

}  // namespace

bool send_with_fd(int socket, const void* message, std::size_t size, int fd) {
  iovec piece{const_cast<void*>(message), size};
  Ancillary ancillary{};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  if (fd >= 0) {
    header.msg_control = &ancillary;
    header.msg_controllen = sizeof ancillary;
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  return ::sendmsg(socket, &header, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

std::ptrdiff_t receive_with_fd(int socket, void* message, std::size_t size, UniqueFd& fd, int flags) {
  iovec piece{message, size};
  Ancillary ancillary{};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = &ancillary;
  header.msg_controllen = CMSG_LEN(sizeof(int));  // with the padding there would be room for two
  const ssize_t received = ::recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
  if (received < 0) return received;
  const cmsghdr* const rights = CMSG_FIRSTHDR(&header);
  if (rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
      rights->cmsg_len == CMSG_LEN(sizeof(int))) {
    int passed = -1;
    std::memcpy(&passed, CMSG_DATA(rights), sizeof passed);
    fd.reset(passed);
  }
  return received;
}

}  // namespace igpu
