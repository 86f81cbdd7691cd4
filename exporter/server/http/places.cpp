// SPDX-License-Identifier: Apache-2.0
#include "server/http/places.h"

namespace igpu::exporter {

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

}  // namespace igpu::exporter
