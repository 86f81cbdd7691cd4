// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace igpu {

// The collectors that a scrape asks for, whatever the order and however often each was named. Collectors that always
// run are in every set.
class CollectorSet {
 public:
  CollectorSet() = default;  // all
  static CollectorSet none() { return only({}); }
  static CollectorSet only(std::vector<std::string> names) {
    CollectorSet set;
    set.all_ = false;
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    set.names_ = std::move(names);
    return set;
  }

  bool all() const { return all_; }
  bool has(std::string_view name) const { return all_ || std::binary_search(names_.begin(), names_.end(), name); }
  bool includes(const CollectorSet& other) const {
    return all_ ||
           (!other.all_ && std::includes(names_.begin(), names_.end(), other.names_.begin(), other.names_.end()));
  }
  void add(const CollectorSet& other) {
    if (all_) return;
    std::vector<std::string> names = names_;
    names.insert(names.end(), other.names_.begin(), other.names_.end());
    *this = other.all_ ? CollectorSet() : only(std::move(names));
  }
  bool operator==(const CollectorSet&) const = default;

 private:
  bool all_ = true;
  std::vector<std::string> names_;  // sorted, unique
};

}  // namespace igpu
