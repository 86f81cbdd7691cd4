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
#include <utility>
#include <variant>
#include <vector>

#include "igpu/reading.h"
#include "machine/page_folder.h"
#include "tracker/page_layout.h"

// What Level Zero programs have created, destroyed and called, from the pages that the tracker (collectors/tracker)
// keeps inside them. Any user can put files into their folder: a file that is not a page, or has values that no tracker
// writes, is rejected, counted by reason, and never hides the others.
namespace igpu {

enum class PageRejection { not_a_file, denied, unreadable, size, header, version, implausible, too_many };
inline constexpr std::size_t kPageRejections = 8;
std::string_view to_string(PageRejection reason);

struct LevelZeroResources {
  std::string_view kind;  // "context", "memory_device", ...
  std::uint64_t created = 0;
  std::uint64_t destroyed = 0;
  std::uint64_t live = 0;
  std::uint64_t live_peak = 0;
  std::uint64_t failed = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_peak = 0;
  std::uint64_t bytes_allocated = 0;
};

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
  std::vector<LevelZeroResources> resources;  // kinds that were created, or failed to be
  std::vector<LevelZeroCalls> calls;          // functions that were called
};

// The part of the file that holds all of the above.
inline constexpr std::size_t kLevelZeroHeadBytes = level_zero::kModulesOffset;

// head: the file's first kLevelZeroHeadBytes; file_size: how long the file says it is. Pure.
std::variant<LevelZeroPage, PageRejection> parse_level_zero_page(std::span<const std::byte> head,
                                                                 std::uint64_t file_size);

// A program's counters never go back. Both from the same file.
bool is_later_reading(const LevelZeroPage& before, const LevelZeroPage& after);

struct LevelZeroProgram {
  std::string name;  // of its file
  LevelZeroPage page;
  bool alive = false;
  std::int32_t pid = 0;  // in the exporter's pid namespace, while alive; 0 if the exporter cannot see it
};

// Now, by the clock in which pages say when their programs began and ended.
std::uint64_t level_zero_realtime_ns();

struct LevelZeroSnapshot {
  std::vector<LevelZeroProgram> programs;  // newest first
  std::vector<std::string> skipped;        // files that were to be left alone, and are still there
  std::array<std::uint64_t, kPageRejections>
      rejected{};  // files by reason; each is counted once for as long as it lasts

  std::uint64_t rejected_for(PageRejection reason) const { return rejected[static_cast<std::size_t>(reason)]; }
};

class LevelZeroPages {
 public:
  static constexpr std::size_t kMostPages = 1024;

  explicit LevelZeroPages(std::unique_ptr<PageFolder> folder);  // null: the machine has no such folders
  // Absent without the folder. skip: files that need not be read again, because their programs have ended.
  Reading<LevelZeroSnapshot> read(const std::function<bool(std::string_view name)>& skip = {});

 private:
  using Identity = std::pair<std::string, std::uint64_t>;  // name, inode
  using Known = std::map<Identity, LevelZeroPage>;
  using Rejected = std::set<std::pair<std::string, PageRejection>>;
  std::variant<LevelZeroProgram, PageRejection> read_one(PageFile& file, std::string_view name, Known& now);

  std::unique_ptr<PageFolder> folder_;
  Known known_;
  Rejected rejected_;
  std::vector<std::byte> buffer_;
};

}  // namespace igpu
