// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "igpu/log.h"
#include "platform/sockets.h"
#include "server/http/exchanges.h"

namespace igpu::exporter {

// Accepts connections, evicts others when the limit is reached, and runs TLS handshakes, until connections can carry
// requests.
class Acceptor {
 public:
  // All must outlive the acceptor. The listening sockets are added to the poller with the numbers from first on.
  Acceptor(std::vector<UniqueSocket> listening, std::uint64_t first, LoopState& loop, Exchanges& exchanges, Log& log);

  // The listening socket of this number is ready.
  void accept(std::uint64_t number);
  // When to resume accepting, which pauses when descriptors run out.
  SteadyTime resume_at() const { return resume_at_; }
  void resume_if_due();
  // Accepts queued connections, which a close would reset, and closes the listening sockets.
  void stop();

  // Bytes have arrived for a handshake.
  void handshake(Connection& connection);
  // Handles finished handshake steps.
  void take_handshakes();

 private:
  void listen(bool on);
  void accept_from(int listening);
  void add(UniqueSocket socket, std::string client);
  bool evict();
  void pause(int error);
  void handshake_went_on(Handshakes::Step step);

  std::vector<UniqueSocket> listening_;
  const std::uint64_t first_;
  LoopState& loop_;
  Exchanges& exchanges_;
  Log& log_;
  bool accepting_ = false;
  bool reported_exhaustion_ = false;
  SteadyTime resume_at_ = SteadyTime::max();
  std::vector<Handshakes::Step> steps_;
};

}  // namespace igpu::exporter
