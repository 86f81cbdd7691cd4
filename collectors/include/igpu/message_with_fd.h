// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "igpu/unique_fd.h"

// One message over a Unix socket that keeps messages apart (SOCK_SEQPACKET), with at most one descriptor: SCM_RIGHTS of
// unix(7). The kernel leaves the descriptor out if the receiver's limit of open files is reached.
namespace igpu {

// fd: -1 for none. False: the message was not sent; errno says why.
bool send_with_fd(int socket, const void* message, std::size_t size, int fd);

// As recvmsg(2), with its flags and errors. `fd` is close-on-exec, and stays as it is if the message brought none.
std::ptrdiff_t receive_with_fd(int socket, void* message, std::size_t size, UniqueFd& fd, int flags);

}  // namespace igpu
