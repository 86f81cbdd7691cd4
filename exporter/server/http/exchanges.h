// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "igpu/log.h"
#include "platform/sockets.h"
#include "server/http/connection_table.h"
#include "server/http/front.h"
#include "server/http/stream.h"

namespace igpu::exporter {

// What all parts of the front's loop share.
struct LoopState {
  const FrontOptions options;
  const Front::TlsContext tls;
  ConnectionTable connections;
  Poller poller = {};
  SteadyTime now = std::chrono::steady_clock::now();  // of this iteration
  SteadyTime give_up = SteadyTime::max();             // deadline of a stop
  std::optional<Handshakes> handshakes = {};          // with TLS only; last: its threads wake the poller

  bool stopping() const { return give_up != SteadyTime::max(); }
};

constexpr std::chrono::milliseconds kStopTimeout(250);  // during a stop, time for a client to send or receive the rest

// Requests and answers on established connections: reads request heads, sends the answers, and closes. Every call may
// close its connection, or another one.
class Exchanges {
 public:
  using Ticket = Front::Ticket;

  // Both must outlive the exchanges.
  Exchanges(LoopState& loop, Responder& responder) : loop_(loop), responder_(responder) {}

  // Events of epoll for a connection whose handshake is done.
  void advance(Connection& connection, std::uint32_t events);
  void read(Connection& connection);
  // Whether requests arrived that next_request() has not returned.
  bool has_requests() const { return !requests_.empty(); }
  // The earliest of them. answer() has to follow, unless it is withdrawn from the responder.
  Front::Request next_request();
  // The responder's answer; a disconnected client is not an error.
  void answer(Ticket ticket, Answer answer);
  // When to call ask_if_due().
  SteadyTime event_due() const { return event_due_; }
  void ask_if_due();
  // To every stream for which it is due and that has received all earlier ones.
  void publish(const Event& event);
  // Its deadline has passed.
  void time_out(Connection& connection);
  void close(Connection& connection);
  // Accepts no further requests; those that have begun are completed.
  void begin_stop();

 private:
  using Kind = Places::Kind;

  bool take_request(Connection& connection);
  void submit(Connection& connection, std::size_t head_size);
  void refuse(Connection& connection, int status);
  void begin_writing(Connection& connection, Answer answer);
  void send(Connection& connection);
  void send_event(Connection& connection, const Event& event);
  void write(Connection& connection);
  void written(Connection& connection);
  void subscribed(Connection& connection);
  void linger(Connection& connection);
  void discard_sent(Connection& connection);
  void arm(Connection& connection, std::uint32_t events);

  LoopState& loop_;
  Responder& responder_;
  std::deque<Front::Request> requests_;  // that were not taken yet
  std::size_t unanswered_ = 0;
  std::size_t unsent_ = 0;                    // bytes of answers
  SteadyTime event_due_ = SteadyTime::max();  // the earliest of all streams; max: none, or one is being made
  bool asked_ = false;                        // for an event
  std::array<char, 4096> scratch_{};
};

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
