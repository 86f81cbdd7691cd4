// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/http/connection.h"
#include "server/http/places.h"

namespace igpu::exporter {

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
