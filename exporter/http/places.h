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

// Who holds the front's places for connections, and who loses one when all are taken.
//
// The address that holds most loses first, so that whoever opens connections without end does it at his own expense. Of
// one address' connections half the places are for newcomers: as long as they hold no more than that, somebody who was
// served already goes (he comes back as a newcomer); beyond that the oldest newcomer goes. The youngest has just
// arrived, and the first bytes of a client far away are still on their way.
//
// Every step is O(log addresses). Not thread-safe.
class Places {
 public:
  using Ticket = std::uint64_t;
  enum class Kind : std::uint8_t {
    newcomer,   // no whole request yet
    served,     // between two requests
    reader,     // takes its answer
    lingering,  // has its answer: of no further use
    answering,  // a request of its is under way: stays
  };

  // client: HttpRequest::client().
  void enter(Ticket ticket, const std::string& client, Kind kind);
  // Also if the kind is the same: from now on the others of this kind are older. Tickets that are unknown are ignored.
  void move(Ticket ticket, Kind kind);
  void leave(Ticket ticket);

  std::size_t size() const { return entries_.size(); }
  // Nobody if all are being answered.
  std::optional<Ticket> next_to_go() const;

 private:
  static constexpr std::size_t kKinds = 5;

  struct Address {
    std::string client;
    std::size_t held = 0;
    std::uint64_t since = 0;                        // when it came to hold that many
    std::array<std::list<Ticket>, kKinds> by_kind;  // the oldest first

    const std::list<Ticket>& of(Kind kind) const { return by_kind[static_cast<std::size_t>(kind)]; }
    std::list<Ticket>& of(Kind kind) { return by_kind[static_cast<std::size_t>(kind)]; }
    std::optional<Ticket> next_to_go() const;
  };
  struct Entry {
    Address* address;
    Kind kind;
    std::list<Ticket>::iterator position;
  };
  struct HoldsMore {  // of those that hold equally many: whoever has done so for longer
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
