// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "server/http/message.h"
#include "server/http/stream.h"

namespace igpu::exporter {

using SteadyTime = std::chrono::steady_clock::time_point;

// One client's connection and its state.
struct Connection {
  enum class State {
    handshaking,
    reading,    // a request's head
    answering,  // the request is complete; its answer is not
    writing,
    subscribed,  // between two events of its stream
    lingering,   // all is sent: further input is discarded, so that a reset does not destroy the answer
  };

  Connection(std::uint64_t its_number, std::unique_ptr<Stream> its_stream, std::string its_client, SteadyTime now)
      : number(its_number),
        client(std::move(its_client)),
        stream(std::move(its_stream)),
        progress(now),
        began(now),
        deadline(SteadyTime::max()) {}

  bool idle() const { return state == State::reading && in.empty() && requests > 0; }
  std::string_view body() const { return out.response && out.with_body ? out.response->content() : std::string_view(); }
  std::size_t unsent() const { return out.head.size() + body().size() - sent; }

  const std::uint64_t number;      // unique; the ticket of its requests and handshakes
  const std::string client;        // HttpRequest::client()
  std::unique_ptr<Stream> stream;  // null while Handshakes has it
  State state = State::reading;
  std::uint32_t armed = 0;  // the events that the poller reports
  std::string in;           // bytes not yet assigned to a request
  Answer out;
  std::size_t sent = 0;
  std::optional<Subscription> subscription;  // its response was the beginning of a stream
  SteadyTime event_due;                      // of the stream
  std::uint64_t events_lost = 0;             // since the last event: they were due while the client still received one
  std::size_t thrown_away = 0;
  std::uint64_t requests = 0;
  std::uint64_t tls_policy = 0;             // Front::Tls::policy when it was accepted
  std::stop_source gone{std::nostopstate};  // HttpRequest::gone() of the request that is being answered
  bool keep_alive = false;
  bool asks_for_head = false;  // this request is a HEAD: no body in any answer
  bool client_ended = false;   // the client has closed its sending half
  SteadyTime progress;         // when a byte was last received or sent
  SteadyTime began;            // when sending the answer began
  SteadyTime deadline;
};

}  // namespace igpu::exporter
