// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/http/message.h"
#include "server/http/stream.h"

namespace igpu::exporter {

// Tracks which clients hold connections, and selects the one to evict when the limit is reached.
//
// The address with the most connections loses one first, so that a flood harms only its own address. Among the
// connections of one address, half of the places are for newcomers: while newcomers hold no more than that, a
// connection that was already served is evicted (its client reconnects as a newcomer); beyond that the oldest newcomer
// is evicted. The newest has just connected, and the first bytes of a distant client are still in transit.
//
// Every step is O(log addresses). Not thread-safe.
class Places {
 public:
  using Ticket = std::uint64_t;
  enum class Kind : std::uint8_t {
    newcomer,   // no whole request yet
    served,     // between two requests
    reader,     // receives its answer
    lingering,  // has its answer and is closing
    answering,  // has a request in progress: never evicted
  };

  // client: HttpRequest::client().
  void enter(Ticket ticket, const std::string& client, Kind kind);
  // Also if the kind is the same: this one becomes the newest of its kind. Unknown tickets are ignored.
  void move(Ticket ticket, Kind kind);
  void leave(Ticket ticket);

  std::size_t size() const { return entries_.size(); }
  // nullopt if all are being answered.
  std::optional<Ticket> next_to_evict() const;

 private:
  static constexpr std::size_t kKinds = 5;

  struct Address {
    std::string client;
    std::size_t held = 0;
    std::uint64_t since = 0;                        // when it reached that number
    std::array<std::list<Ticket>, kKinds> by_kind;  // the oldest first

    const std::list<Ticket>& of(Kind kind) const { return by_kind[static_cast<std::size_t>(kind)]; }
    std::list<Ticket>& of(Kind kind) { return by_kind[static_cast<std::size_t>(kind)]; }
    std::optional<Ticket> next_to_evict() const;
  };
  struct Entry {
    Address* address;
    Kind kind;
    std::list<Ticket>::iterator position;
  };
  struct HoldsMore {  // on a tie: the one that has held that number for longer
    bool operator()(const Address* a, const Address* b) const {
      return a->held != b->held ? a->held > b->held : a->since < b->since;
    }
  };

  void hold(Address& address, std::size_t held);

  std::unordered_map<std::string, Address> addresses_;
  std::set<Address*, HoldsMore> order_;
  std::unordered_map<Ticket, Entry> entries_;
  std::uint64_t changes_ = 0;
};

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

// All connections by number, with their deadlines and the order in which they are evicted. Not thread-safe.
class ConnectionTable {
 public:
  using Number = std::uint64_t;
  using Kind = Places::Kind;

  // Numbers count up from first.
  explicit ConnectionTable(Number first) : next_(first) {}

  Connection& add(std::unique_ptr<Stream> stream, std::string&& client, SteadyTime now);
  Connection* find(Number number);  // null: closed
  void remove(const Connection& connection);
  void clear() { connections_.clear(); }

  std::size_t size() const { return connections_.size(); }
  std::vector<Number> numbers() const;

  // Sets how it counts for eviction (Places::move).
  void move(const Connection& connection, Kind kind) { places_.move(connection.number, kind); }
  Connection* next_to_evict();   // null: all are being answered
  Connection* slowest_reader();  // the one with the oldest progress; null: no answer is being sent

  void set_deadline(Connection& connection, SteadyTime deadline);
  void clear_deadline(Connection& connection) { connection.deadline = SteadyTime::max(); }
  // When to call take_late() next; nothing is late before.
  SteadyTime next_check() const { return next_check_; }
  // Connections whose deadline has passed.
  std::vector<Number> take_late(SteadyTime now);

 private:
  Number next_;
  std::unordered_map<Number, Connection> connections_;
  Places places_;
  SteadyTime next_check_ = SteadyTime::max();
};

}  // namespace igpu::exporter
