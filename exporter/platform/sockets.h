// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifdef _WIN32
#include "platform/windows_headers.h"
#else
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#endif

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "igpu/unique_fd.h"

// The parts of the socket interface that differ between operating systems. The rest (names, getaddrinfo, bind, listen)
// is the same everywhere and is included by this header. A socket is an int, as OpenSSL requires; Windows' handles fit
// into it.
namespace igpu::exporter {

#ifdef _WIN32
// A socket is not a file descriptor on Windows.
void close_socket(int socket);
using UniqueSocket = UniqueNumber<close_socket>;
#else
using UniqueSocket = UniqueFd;
#endif

// Opens a non-blocking socket that child processes do not inherit. Empty on failure; see last_socket_error().
UniqueSocket open_socket(int family, int type = SOCK_STREAM);

int last_socket_error();
std::string socket_error_text(int error);
bool is_try_again(int error);         // the socket is not ready
bool is_connecting(int error);        // connect() goes on
bool is_out_of_resources(int error);  // descriptors or memory

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;
// The result of getaddrinfo(); service: null for none.
int look_up(const std::string& host, const char* service, const addrinfo& hints, Addresses& list);
std::string lookup_error_text(int error);  // of getaddrinfo()

int pending_error(int socket);  // the result of connect(); 0: connected

bool set_option(int socket, int level, int name, int value);
// Lets a listening socket bind its address although connections of an earlier process linger, and keeps other programs
// from binding it at the same time.
void own_address(int socket);

// The socket of a new connection, non-blocking and not inherited. Empty on failure; see last_socket_error().
UniqueSocket accept_connection(int listening, sockaddr_storage& client);
// The number of bytes; 0 at the end of the connection; negative on failure, see last_socket_error().
std::ptrdiff_t receive(int socket, std::span<char> into);
std::ptrdiff_t send(int socket, std::string_view first,
                    std::string_view second = {});  // the calling thread must block SIGPIPE
void end_sending(int socket);

// Whether unread bytes have arrived.
bool has_bytes(int socket);
// Whether the client has reset the connection. Bytes sent before the reset can still be read without an error.
bool is_reset(int socket);
// Whether the client will send nothing more: it has reset the connection, or closed its sending half.
bool has_ended(int socket);

// Waits until the socket can be read, or written if `to_write`. False: not within that time.
bool wait_until_ready(int socket, bool to_write, std::chrono::milliseconds at_most);

// UNIX sockets. On systems without them, unix_name() throws std::runtime_error with one line.
socklen_t unix_name(const std::string& path, sockaddr_storage& name);
bool is_unix_name(const sockaddr_storage& name);
std::string unix_path(const sockaddr_storage& name);
// Removes the socket file that an earlier process left behind. Throws std::runtime_error, without the path, if it is in
// use or something else.
void remove_stale_socket_file(const std::string& path);
void remove_socket_file(const std::string& path);

// Waits for many sockets, with a way to interrupt the wait: epoll on Linux, WSAPoll() on Windows. Sockets are reported
// by the number with which they were added, for as long as they are ready. One thread at a time may call all but
// wake().
class Poller {
 public:
  static constexpr std::uint64_t kWoken = 0;  // the number of wake()

  // Events to watch for, and those that are ready. kError (the connection broke) and kHangUp (both halves are closed)
  // are always reported.
  static constexpr std::uint32_t kRead = 1, kWrite = 4, kError = 8, kHangUp = 16;

  struct Ready {
    std::uint64_t number;
    std::uint32_t events;
  };

  Poller();  // throws std::system_error
  ~Poller();

  void add(int socket, std::uint32_t events, std::uint64_t number);
  void change(int socket, std::uint32_t events, std::uint64_t number);
  void remove(int socket);
  // Call before a socket that was not removed is closed. (On Linux, closing it is enough.)
  void closing(int socket);

  // Waits at most that many milliseconds; -1: no limit. The result is valid until the next call.
  std::span<const Ready> wait(int at_most);
  void wake() const;  // thread-safe

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace igpu::exporter
