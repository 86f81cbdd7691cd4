// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "igpu/level_zero.h"
#include "igpu/reading.h"
#include "level_zero/tracker/page_layout.h"
#include "machine/page_folder.h"

// What Level Zero programs have created, destroyed and called, from the pages that the tracker
// (collectors/level_zero/tracker) writes in them. Any user can put files into their folder: a file that is not a page,
// or has values that no tracker writes, is rejected, counted by reason, and never hides the others.
namespace igpu {

enum class PageRejection {
  not_a_file,
  denied,
  unreadable,
  size,
  header,
  version,
  implausible,
  too_many,
  too_many_series
};
inline constexpr std::size_t kPageRejections = 9;
std::string_view to_string(PageRejection reason);

struct LevelZeroCalls {
  std::string_view function;
  std::uint64_t calls = 0;
  std::uint64_t errors = 0;
};

struct LevelZeroPage {
  std::string comm;
  std::string executable;
  std::uint32_t pid = 0;  // in the program's own pid namespace
  std::uint64_t started_realtime_ns = 0;
  std::uint64_t ended_realtime_ns = 0;  // 0: its exit handlers have not run
  std::uint64_t invalid_destroys = 0;
  std::uint64_t untracked = 0;
  std::vector<LevelZeroKindUse> resources;  // kinds that were created, or failed to be
  std::vector<LevelZeroCalls> calls;        // functions that were called
};

// The size of the part of the file that holds all of the above.
inline constexpr std::size_t kLevelZeroHeadBytes = level_zero::kModulesOffset;

// head: the file's first kLevelZeroHeadBytes; file_size: of the whole file. Pure.
std::variant<LevelZeroPage, PageRejection> parse_level_zero_page(std::span<const std::byte> head,
                                                                 std::uint64_t file_size);

// Whether `after` can be a later reading of the same file as `before`: counters never step back.
bool is_later_reading(const LevelZeroPage& before, const LevelZeroPage& after);

struct LevelZeroProgram {
  std::string name;  // name of its page file
  LevelZeroPage page;
  std::uint32_t owner = 0;  // uid of its page file
  bool alive = false;
  std::int32_t pid = 0;  // in the exporter's pid namespace, while alive; 0 if the exporter cannot see it
};

// The present time on the clock of LevelZeroPage::started_realtime_ns.
std::uint64_t level_zero_realtime_ns();

struct LevelZeroSnapshot {
  std::vector<LevelZeroProgram> programs;  // newest first
  std::vector<std::string> skipped;        // files that `skip` excluded and that still exist
  std::array<std::uint64_t, kPageRejections>
      rejected{};  // files by reason; each is counted once for as long as it lasts
};

// Reads at most kMostPages files, shared evenly among the owners of the files, so that no user can displace the
// programs of others by filling the folder. Of one owner the newest files come first, and after them those that were
// rejected before and files whose names have a start time in the future. An owner is a uid: a user with subordinate
// uids (/etc/subuid) can own files as each of them, and has as many shares.
//
// A file's owner is known only from its facts, and each read gets the facts of at most kMostFacts files: the pages of
// the last read, the newest other files, and some of the rest in turn. So every program is found eventually, even in a
// folder with more files, and then kept.
class LevelZeroPages {
 public:
  static constexpr std::size_t kMostPages = 1024;
  static constexpr std::size_t kMostFacts = 8 * kMostPages;

  explicit LevelZeroPages(std::unique_ptr<PageFolder> folder,  // null: the machine has no such folder
                          std::function<std::uint64_t()> realtime_ns = level_zero_realtime_ns);
  // Absent if there is no folder. skip: files that need not be read again, because their programs have ended.
  Reading<LevelZeroSnapshot> read(const std::function<bool(std::string_view name)>& skip = {});

 private:
  using Identity = std::pair<std::string, std::uint64_t>;  // name, inode
  using Known = std::map<Identity, LevelZeroPage>;
  using Rejected = std::unordered_map<std::string, PageRejection>;  // by name
  struct Candidate;
  using Reject = std::function<void(const Candidate& candidate, PageRejection reason)>;
  std::vector<Candidate> named_as_pages(std::vector<std::string> names) const;
  std::size_t leave_out_most(std::vector<Candidate>& all);
  std::vector<Candidate> candidates(std::vector<Candidate> named, const Reject& reject);
  std::optional<PageRejection> earlier_rejection(const std::string& name) const;
  void read_one(const Candidate& candidate, Known& now, LevelZeroSnapshot& snapshot, const Reject& reject);
  std::variant<LevelZeroProgram, PageRejection> read_page(PageFile& file, std::string_view name, Known& now);

  std::unique_ptr<PageFolder> folder_;
  std::function<std::uint64_t()> realtime_ns_;
  Known known_;
  Rejected rejected_;         // at the last read
  std::size_t left_out_ = 0;  // at the last read: files that were neither pages of it nor among the newest
  std::pair<std::uint64_t, std::string> turn_{};  // start and name of the last file whose turn it was
  std::vector<std::byte> buffer_;
};

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
