// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "http/front.h"
#include "http/stream.h"

namespace igpu::exporter {

using SteadyTime = std::chrono::steady_clock::time_point;

// One client of the front, as far as it has come. Driven by the front's loop, which knows the limits.
struct Connection {
  enum class State {
    handshaking,
    reading,    // a request's head
    answering,  // somebody else's turn
    writing,
    lingering,  // all is said: what still comes is thrown away, so that the answer is not lost in a reset
  };

  Connection(std::unique_ptr<Stream> its_stream, SteadyTime now)
      : stream(std::move(its_stream)), progress(now), began(now) {}

  bool fresh() const { return requests == 0; }
  bool idle() const { return state == State::reading && in.empty() && !fresh(); }
  std::string_view body() const {
    return out.response && out.with_body ? std::string_view(out.response->body) : std::string_view();
  }
  std::size_t unsent() const { return out.head.size() + body().size() - sent; }

  std::unique_ptr<Stream> stream;  // null while Handshakes has it
  State state = State::reading;
  std::uint32_t armed = 0;  // events that epoll tells
  std::string client;       // HttpRequest::client()
  std::string in;           // bytes that no request was made of yet
  Answer out;
  std::size_t sent = 0;
  std::size_t thrown_away = 0;
  std::uint64_t requests = 0;
  std::uint64_t admission = 0;              // under which it came in
  std::stop_source gone{std::nostopstate};  // HttpRequest::gone() of the request that is being answered
  bool keep_alive = false;
  bool asks_for_head = false;  // this request: no body, whoever answers it
  bool client_ended = false;
  SteadyTime progress;  // when a byte last went either way
  SteadyTime began;     // when this state, or this request's head, began
  SteadyTime deadline;
};

}  // namespace igpu::exporter
