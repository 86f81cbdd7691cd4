// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "server/http/listener.h"

namespace igpu::test {

struct TestListenerOptions : exporter::ListenerOptions {
  std::vector<exporter::ListenAddress> addresses;
};

struct TestSockets {
  exporter::ListeningSockets sockets;
};

// A listener with sockets of its own, whose files it removes, as serve does.
class TestListener : private TestSockets, public exporter::Listener {
 public:
  TestListener(const TestListenerOptions& options, exporter::HttpHandler& handler, Log& log)
      : TestSockets{{{}, options.addresses}}, Listener(options, sockets.take_sockets(), handler, log) {}

  void stop(std::chrono::milliseconds grace) {
    sockets.remove_files();
    Listener::stop(grace);
  }

  std::uint16_t port(std::size_t index = 0) const {
    const std::string& address = bound().at(index);
    return static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
  }
};

}  // namespace igpu::test
