// SPDX-License-Identifier: Apache-2.0
#include "server/http/connection_table.h"

#include <algorithm>
#include <utility>

namespace igpu::exporter {
namespace {

constexpr std::chrono::milliseconds kDeadlineStep(10);  // deadlines are not checked more often

}  // namespace

Connection& ConnectionTable::add(std::unique_ptr<Stream> stream, std::string&& client, SteadyTime now) {
  const Number number = next_++;
  places_.enter(number, client, Kind::newcomer);
  return connections_.try_emplace(number, number, std::move(stream), std::move(client), now).first->second;
}

Connection* ConnectionTable::find(Number number) {
  const auto found = connections_.find(number);
  return found == connections_.end() ? nullptr : &found->second;
}

void ConnectionTable::remove(const Connection& connection) {
  const Number number = connection.number;
  places_.leave(number);
  connections_.erase(number);
}

std::vector<ConnectionTable::Number> ConnectionTable::numbers() const {
  std::vector<Number> all;
  all.reserve(connections_.size());
  for (const auto& [number, connection] : connections_) all.push_back(number);
  return all;
}

Connection* ConnectionTable::next_to_evict() {
  const std::optional<Number> number = places_.next_to_evict();
  return number ? find(*number) : nullptr;
}

Connection* ConnectionTable::slowest_reader() {
  Connection* slowest = nullptr;
  for (auto& [number, connection] : connections_) {
    if (connection.state != Connection::State::writing) continue;
    if (slowest == nullptr || connection.progress < slowest->progress) slowest = &connection;
  }
  return slowest;
}

void ConnectionTable::set_deadline(Connection& connection, SteadyTime deadline) {
  connection.deadline = deadline;
  next_check_ = std::min(next_check_, deadline);
}

std::vector<ConnectionTable::Number> ConnectionTable::take_late(SteadyTime now) {
  std::vector<Number> late;
  next_check_ = SteadyTime::max();
  for (const auto& [number, connection] : connections_) {
    if (now >= connection.deadline) {
      late.push_back(number);
    } else {
      next_check_ = std::min(next_check_, connection.deadline);
    }
  }
  if (next_check_ != SteadyTime::max()) next_check_ = std::max(next_check_, now + kDeadlineStep);
  return late;
}

}  // namespace igpu::exporter
