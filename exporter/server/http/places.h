// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

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

}  // namespace igpu::exporter
