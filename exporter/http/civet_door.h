// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <civetweb.h>

#include <cstdint>

#include "service/descriptor.h"

namespace igpu::exporter {

// How a request gets into CivetWeb. The one that is compiled here (third_party/civetweb_adopt.c) takes one end of a
// socket pair. An installed one (SYSTEM_CIVETWEB=ON) has no such door: it listens on a port of the loopback interface
// and the request goes through there; what others send to that port is closed without an answer.
class CivetDoor {
 public:
  static const char* const kPorts;

  struct Visitor {
    Descriptor ours;    // the request is written to this end
    Descriptor theirs;  // what CivetWeb is to adopt; none if it accepts by itself
    int number = -1;    // tells the connection from all others while it is open
    explicit operator bool() const { return number >= 0; }
  };

  void open(mg_context* context);
  Visitor prepare() const;            // false: no descriptor is free
  void enter(Visitor visitor) const;  // the request has been written
  static int number_of(const mg_connection* connection);
  static void stop(mg_context* context);

 private:
  mg_context* context_ = nullptr;
  [[maybe_unused]] std::uint16_t port_ = 0;  // of a library that adopts no sockets
};

}  // namespace igpu::exporter
