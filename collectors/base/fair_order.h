// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace igpu {

// Reorders items fairly by owner: the next item always belongs to the owner whose items so far weigh least. Whatever
// one owner adds, the others lose at most its share of a limited number or sum. The items of one owner keep their
// order, the best first.
template <class Item, class OwnerOf, class WeightOf>
std::vector<Item> fair_order(std::vector<Item> items, OwnerOf owner_of, WeightOf weight_of) {
  std::map<std::uint32_t, std::vector<Item>> of_owner;
  for (auto item = items.rbegin(); item != items.rend(); ++item) of_owner[owner_of(*item)].push_back(std::move(*item));
  std::set<std::pair<std::uint64_t, std::uint32_t>> turns;  // weight so far, owner
  for (const auto& [owner, left] : of_owner) turns.emplace(0, owner);
  items.clear();
  while (!turns.empty()) {
    const auto [weight, owner] = turns.extract(turns.begin()).value();
    std::vector<Item>& left = of_owner[owner];
    items.push_back(std::move(left.back()));
    left.pop_back();
    if (!left.empty()) turns.emplace(weight + static_cast<std::uint64_t>(weight_of(items.back())), owner);
  }
  return items;
}

}  // namespace igpu
