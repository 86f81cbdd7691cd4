// SPDX-License-Identifier: Apache-2.0
#include "http/civet_door.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <utility>

#ifdef IGPU_CIVETWEB_ADOPTS
#include <civetweb_adopt.h>
#endif

namespace igpu::exporter {

#ifdef IGPU_CIVETWEB_ADOPTS

const char* const CivetDoor::kPorts = IGPU_CIVETWEB_NOWHERE;

void CivetDoor::open(mg_context* context) { context_ = context; }

CivetDoor::Visitor CivetDoor::prepare() const {
  std::array<int, 2> pair{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()) != 0) return {};
  return {Descriptor(pair[0]), Descriptor(pair[1]), pair[1]};
}

void CivetDoor::enter(Visitor visitor) const {
  const int theirs = visitor.theirs.release();
  visitor.ours.close();  // what was written stays readable, and nothing follows it
  igpu_civetweb_adopt(context_, theirs);
}

int CivetDoor::number_of(const mg_connection* connection) { return igpu_civetweb_socket(connection); }

void CivetDoor::stop(mg_context* context) { igpu_civetweb_stop(context); }

#else

const char* const CivetDoor::kPorts = "127.0.0.1:0";

void CivetDoor::open(mg_context* context) {
  context_ = context;
  std::array<mg_server_port, 1> ports{};
  if (mg_get_server_ports(context, 1, ports.data()) == 1) port_ = static_cast<std::uint16_t>(ports[0].port);
}

CivetDoor::Visitor CivetDoor::prepare() const {
  Descriptor ours(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  // The number is known, and noted, before CivetWeb can see the connection.
  if (!ours || ::bind(ours.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(ours.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return {};
  }
  const int number = ntohs(address.sin_port);
  address.sin_port = htons(port_);
  if (::connect(ours.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  return {std::move(ours), {}, number};
}

void CivetDoor::enter(Visitor visitor) const { (void)::shutdown(visitor.ours.get(), SHUT_WR); }

int CivetDoor::number_of(const mg_connection* connection) { return mg_get_request_info(connection)->remote_port; }

void CivetDoor::stop(mg_context* context) { mg_stop(context); }

#endif

}  // namespace igpu::exporter
