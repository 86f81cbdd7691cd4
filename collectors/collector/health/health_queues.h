// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

namespace igpu {

// A queue of a GPU. The firmware of each GT assigns the ids, so queues of two GTs may have the same id.
struct GtQueue {
  std::uint32_t id = 0;
  std::optional<std::uint32_t> gt;  // nullopt: not reported

  bool may_be(const GtQueue& other) const { return id == other.id && (!gt || !other.gt || gt == other.gt); }
  friend bool operator<(const GtQueue& a, const GtQueue& b) { return std::tie(a.id, a.gt) < std::tie(b.id, b.gt); }
};

template <class T>
using ByQueue = std::map<GtQueue, T>;

// Calls visit(iterator) for each entry that may belong to this queue: at most one for each GT, and one for an unknown
// GT.
template <class Map, class Visit>
void for_each_of(Map& known, const GtQueue& queue, Visit&& visit) {
  for (auto place = known.lower_bound({queue.id, std::nullopt}); place != known.end() && place->first.id == queue.id;) {
    const auto found = place++;
    if (found->first.may_be(queue)) visit(found);
  }
}

}  // namespace igpu
