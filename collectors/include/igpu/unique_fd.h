// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

namespace igpu {

// Owns what Close ends; no number below 0.
template <void (*Close)(int)>
class UniqueNumber {
 public:
  UniqueNumber() = default;
  explicit UniqueNumber(int fd) : fd_(fd) {}
  UniqueNumber(UniqueNumber&& other) noexcept : fd_(other.release()) {}
  UniqueNumber& operator=(UniqueNumber&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~UniqueNumber() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset(int fd = -1) {
    if (fd_ >= 0) Close(fd_);
    fd_ = fd;
  }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// Owns one file descriptor; nothing else in the library and the program does. Always close-on-exec.
void close_fd(int fd);
using UniqueFd = UniqueNumber<close_fd>;

// One message over a Unix socket that keeps messages apart (SOCK_SEQPACKET), with at most one descriptor: SCM_RIGHTS of
// unix(7). The kernel leaves the descriptor out if the receiver's limit of open files is reached.
//
// fd: -1 for none. False: the message was not sent; errno says why.
bool send_with_fd(int socket, const void* message, std::size_t size, int fd);

// As recvmsg(2), with its flags and errors. `fd` is close-on-exec, and stays as it is if the message brought none.
std::ptrdiff_t receive_with_fd(int socket, void* message, std::size_t size, UniqueFd& fd, int flags);

}  // namespace igpu
