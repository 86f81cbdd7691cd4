// SPDX-License-Identifier: Apache-2.0
// A message with a descriptor, and what another process may send instead.
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "igpu/unique_fd.h"

using namespace igpu;

namespace {

struct Sockets {
  Sockets() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
    here = UniqueFd(ends[0]);
    there = UniqueFd(ends[1]);
  }
  UniqueFd here, there;
};

auto open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

// As a process that does not keep to the agreement.
void send_two(int socket, int fd) {
  int message = 7;
  iovec piece{&message, sizeof message};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> ancillary{};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = ancillary.data();
  header.msg_controllen = ancillary.size();
  cmsghdr* const rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(2 * sizeof(int));
  const std::array<int, 2> fds{fd, fd};
  std::memcpy(CMSG_DATA(rights), fds.data(), sizeof fds);
  REQUIRE(::sendmsg(socket, &header, 0) == sizeof message);
}

}  // namespace

TEST_SUITE_BEGIN("message_with_fd");

TEST_CASE("a message arrives with its descriptor, or without one") {
  const Sockets sockets;
  int message = 42, received = 0;
  UniqueFd fd;
  REQUIRE(send_with_fd(sockets.there.get(), &message, sizeof message, sockets.there.get()));
  CHECK(receive_with_fd(sockets.here.get(), &received, sizeof received, fd, 0) == sizeof received);
  CHECK(received == 42);
  CHECK(fd);
  UniqueFd none;
  REQUIRE(send_with_fd(sockets.there.get(), &message, sizeof message, -1));
  CHECK(receive_with_fd(sockets.here.get(), &received, sizeof received, none, 0) == sizeof received);
  CHECK_FALSE(none);
  CHECK(receive_with_fd(sockets.here.get(), &received, sizeof received, none, MSG_DONTWAIT) < 0);
  CHECK(errno == EAGAIN);
}

TEST_CASE("two descriptors in a message: none of them leaks") {
  const Sockets sockets;
  const auto before = open_descriptors();
  for (int i = 0; i < 100; ++i) {
    send_two(sockets.there.get(), sockets.there.get());
    int received = 0;
    UniqueFd fd;
    CHECK(receive_with_fd(sockets.here.get(), &received, sizeof received, fd, 0) == sizeof received);
    CHECK(received == 7);
  }
  CHECK(open_descriptors() == before);
}

TEST_SUITE_END();
