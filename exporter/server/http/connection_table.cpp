// SPDX-License-Identifier: Apache-2.0
#include "server/http/connection_table.h"

namespace igpu::exporter {
namespace {

constexpr std::chrono::milliseconds kDeadlineStep(10);  // deadlines are not checked more often

}  // namespace

void Places::enter(Ticket ticket, const std::string& client, Kind kind) {
  const auto [found, first] = addresses_.try_emplace(client);
  Address& address = found->second;
  if (first) address.client = client;
  std::list<Ticket>& list = address.of(kind);
  entries_.try_emplace(ticket, Entry{&address, kind, list.insert(list.end(), ticket)});
  hold(address, address.held + 1);
}

void Places::move(Ticket ticket, Kind kind) {
  const auto found = entries_.find(ticket);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  std::list<Ticket>& to = entry.address->of(kind);
  to.splice(to.end(), entry.address->of(entry.kind), entry.position);
  entry.kind = kind;
}

void Places::leave(Ticket ticket) {
  const auto found = entries_.find(ticket);
  if (found == entries_.end()) return;
  const Entry entry = found->second;
  entries_.erase(found);
  entry.address->of(entry.kind).erase(entry.position);
  hold(*entry.address, entry.address->held - 1);
}

std::optional<Places::Ticket> Places::next_to_evict() const {
  for (const Address* address : order_) {
    if (const std::optional<Ticket> ticket = address->next_to_evict()) return ticket;
  }
  return std::nullopt;
}

std::optional<Places::Ticket> Places::Address::next_to_evict() const {
  const auto oldest = [this](Kind kind) { return of(kind).front(); };
  if (!of(Kind::lingering).empty()) return oldest(Kind::lingering);
  if (2 * of(Kind::newcomer).size() > held) return oldest(Kind::newcomer);
  for (const Kind kind : {Kind::served, Kind::reader, Kind::newcomer}) {
    if (!of(kind).empty()) return oldest(kind);
  }
  return std::nullopt;
}

void Places::hold(Address& address, std::size_t held) {
  order_.erase(&address);
  if (held == 0) {
    addresses_.erase(std::string(address.client));
    return;
  }
  address.held = held;
  address.since = ++changes_;
  order_.insert(&address);
}

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
