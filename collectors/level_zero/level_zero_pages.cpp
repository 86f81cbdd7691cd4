// SPDX-License-Identifier: Apache-2.0
#include "level_zero/level_zero_pages.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <unordered_set>

#include "base/scan.h"
#include "level_zero/tracker/api_table.h"

namespace igpu {
namespace {

using namespace level_zero;

constexpr std::uint64_t kLargest = std::uint64_t{1} << 53;  // what a double holds exactly
// Counters are written one after the other, so a reader may find each thread between two of them.
constexpr std::uint64_t kInFlight = 4096;

template <class T>
T read_struct(std::span<const std::byte> bytes, std::uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

bool close_to(std::uint64_t a, std::uint64_t b) { return (a < b ? b - a : a - b) <= kInFlight; }

template <std::size_t size>
std::optional<std::string> text_of(const char (&field)[size]) {
  const char* end = std::find(field, field + size, '\0');
  if (end == field + size) return std::nullopt;
  return std::string(field, end);
}

bool plausible_size(const Header& header, std::uint64_t file_size) {
  if (header.frames_per_site < 1 || header.frames_per_site > kMaxFrames) return false;
  if (header.entries_offset != entries_offset(header.frames_per_site)) return false;
  for (std::uint32_t chunks = 1; chunks <= kMaxChunks; ++chunks)
    if (header.entries == entries_of(chunks)) {
      // The file grows first; the header says so after that.
      const std::uint64_t least = header.entries_offset + header.entries * sizeof(Entry);
      const std::uint64_t most = header.entries_offset + entries_of(std::min(chunks + 1, kMaxChunks)) * sizeof(Entry);
      return file_size >= least && file_size <= most;
    }
  return false;
}

// live, as the writer keeps it; briefly below zero when a destroy is counted before its create.
bool plausible_live(const KindCounters& kind) {
  if (kind.live >= kLargest) return kind.live >= 0 - kInFlight;
  const std::uint64_t expected = kind.created < kind.destroyed ? 0 : kind.created - kind.destroyed;
  return close_to(kind.live, expected) && kind.live <= kind.live_peak + kInFlight;
}

bool plausible(const KindCounters& kind) {
  for (const std::uint64_t value :
       {kind.created, kind.destroyed, kind.live_peak, kind.failed, kind.bytes_peak, kind.bytes_allocated})
    if (value >= kLargest) return false;
  return plausible_live(kind) && kind.destroyed <= kind.created + kInFlight &&
         kind.live_peak <= kind.created + kInFlight && kind.bytes_peak <= kind.bytes_allocated &&
         (kind.bytes <= kind.bytes_allocated || static_cast<std::int64_t>(kind.bytes) < 0);
}

std::uint64_t from_zero(std::uint64_t counter) { return static_cast<std::int64_t>(counter) < 0 ? 0 : counter; }

bool read_resources(std::span<const std::byte> head, LevelZeroPage& page, std::uint32_t kinds) {
  for (std::uint32_t i = 0; i < std::min(kinds, kKinds); ++i) {
    const auto kind = read_struct<KindCounters>(head, kKindsOffset + i * sizeof(KindCounters));
    if (!plausible(kind)) return false;
    if (kind.created == 0 && kind.failed == 0) continue;
    page.resources.push_back({kKindNames[i], kind.created, kind.destroyed, from_zero(kind.live), kind.live_peak,
                              kind.failed, from_zero(kind.bytes), kind.bytes_peak, kind.bytes_allocated});
  }
  return true;
}

bool read_calls(std::span<const std::byte> head, LevelZeroPage& page, std::uint32_t functions) {
  for (std::uint32_t i = 0; i < std::min(functions, kFunctions); ++i) {
    LevelZeroCalls sum = {kFunctionNames[i], 0, 0};
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t at = kCallsOffset + (lane * kMaxFunctions + i) * sizeof(CallCounters);
      const auto cell = read_struct<CallCounters>(head, at);
      if (cell.calls >= kLargest || cell.errors > cell.calls + kInFlight) return false;
      sum.calls += cell.calls;
      sum.errors += cell.errors;
    }
    if (sum.calls >= kLargest || sum.errors >= kLargest) return false;
    if (sum.calls != 0) page.calls.push_back(sum);
  }
  return true;
}

// When the program began, from the file's name; that and the pid are all that a name says.
std::optional<std::uint64_t> start_of_name(std::string_view name) {
  if (!name.ends_with(".l0")) return std::nullopt;
  name.remove_suffix(3);
  const std::string_view pid = take_until(name, '-');
  if (!scan_u64(pid)) return std::nullopt;
  return scan_u64(name);
}

// Both lists are in the order of the tables of names.
template <class Item>
bool none_went_back(const std::vector<Item>& before, const std::vector<Item>& after, std::string_view Item::*name,
                    std::initializer_list<std::uint64_t Item::*> counters) {
  auto now = after.begin();
  return std::ranges::all_of(before, [&](const Item& old) {
    now = std::find_if(now, after.end(), [&](const Item& i) { return i.*name == old.*name; });
    return now != after.end() &&
           std::ranges::all_of(counters, [&](std::uint64_t Item::*counter) { return (*now).*counter >= old.*counter; });
  });
}

}  // namespace

std::string_view to_string(PageRejection reason) {
  constexpr std::array<std::string_view, kPageRejections> kNames{
      "not_a_file", "denied", "unreadable", "size", "header", "version", "implausible", "too_many", "too_many_series"};
  return kNames[static_cast<std::size_t>(reason)];
}

std::variant<LevelZeroPage, PageRejection> parse_level_zero_page(std::span<const std::byte> head,
                                                                 std::uint64_t file_size) {
  if (head.size() < kLevelZeroHeadBytes || file_size > kMaxFileBytes) return PageRejection::size;
  const auto header = read_struct<Header>(head, 0);
  if (header.magic != kMagic) return PageRejection::header;
  if (header.version != kLayoutVersion) return PageRejection::version;
  if (!plausible_size(header, file_size)) return PageRejection::size;
  const std::optional<std::string> comm = text_of(header.comm);
  if (!comm || header.kinds > kMaxKinds || header.functions > kMaxFunctions) return PageRejection::header;
  if (header.started_realtime_ns == 0 || header.invalid_destroys >= kLargest || header.untracked >= kLargest)
    return PageRejection::implausible;

  LevelZeroPage page;
  page.comm = *comm;
  page.executable = text_of(header.executable).value_or("");
  page.pid = header.pid;
  page.started_realtime_ns = header.started_realtime_ns;
  page.ended_realtime_ns = header.ended_realtime_ns;
  page.invalid_destroys = header.invalid_destroys;
  page.untracked = header.untracked;
  if (!read_resources(head, page, header.kinds) || !read_calls(head, page, header.functions))
    return PageRejection::implausible;
  return page;
}

bool is_later_reading(const LevelZeroPage& before, const LevelZeroPage& after) {
  using Resources = LevelZeroKindUse;
  return before.pid == after.pid && before.started_realtime_ns == after.started_realtime_ns &&
         before.invalid_destroys <= after.invalid_destroys && before.untracked <= after.untracked &&
         none_went_back(before.resources, after.resources, &Resources::kind,
                        {&Resources::created, &Resources::destroyed, &Resources::live_peak, &Resources::failed,
                         &Resources::bytes_peak, &Resources::bytes_allocated}) &&
         none_went_back(before.calls, after.calls, &LevelZeroCalls::function,
                        {&LevelZeroCalls::calls, &LevelZeroCalls::errors});
}

std::uint64_t level_zero_realtime_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

struct LevelZeroPages::Candidate {
  static bool newer(const Candidate& a, const Candidate& b) {
    return a.start != b.start ? a.start > b.start : a.name < b.name;
  }

  std::string name;
  std::uint64_t start = 0;
  bool future = false;   // says its name
  bool in_turn = false;  // left out, but for this read
  std::uint32_t owner = 0;
  bool doubtful = false;
};

LevelZeroPages::LevelZeroPages(std::unique_ptr<PageFolder> folder, std::function<std::uint64_t()> realtime_ns)
    : folder_(std::move(folder)), realtime_ns_(std::move(realtime_ns)), buffer_(kLevelZeroHeadBytes) {}

Reading<LevelZeroSnapshot> LevelZeroPages::read(const std::function<bool(std::string_view name)>& skip) {
  if (!folder_) return Absent{Reason::disabled, ENOENT};
  auto names = folder_->names();
  if (!names) return names.propagate<LevelZeroSnapshot>();
  LevelZeroSnapshot snapshot;
  Rejected rejected;
  const Reject reject = [&](const Candidate& candidate, PageRejection reason) {
    if (candidate.in_turn) return;  // counted with those that are left out
    const bool first = rejected.emplace(candidate.name, reason).second;
    const auto before = rejected_.find(candidate.name);
    if (first && (before == rejected_.end() || before->second != reason))
      ++snapshot.rejected[static_cast<std::size_t>(reason)];
  };
  if (skip) {
    const auto skipped = std::partition(names->begin(), names->end(), [&](const auto& name) { return !skip(name); });
    snapshot.skipped.assign(std::make_move_iterator(skipped), std::make_move_iterator(names->end()));
    names->erase(skipped, names->end());
  }
  std::vector<Candidate> named = named_as_pages(std::move(*names));
  const std::size_t left_out = leave_out_most(named);
  std::vector<Candidate> all = candidates(std::move(named), reject);
  while (all.size() > kMostPages) {
    reject(all.back(), earlier_rejection(all.back().name).value_or(PageRejection::too_many));
    all.pop_back();
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &Candidate::start);
  Known now;
  for (const Candidate& candidate : all) read_one(candidate, now, snapshot, reject);
  if (left_out > left_out_)
    snapshot.rejected[static_cast<std::size_t>(PageRejection::too_many)] += left_out - left_out_;
  left_out_ = left_out;
  known_ = std::move(now);
  rejected_ = std::move(rejected);
  return snapshot;
}

// For what is wrong with it.
std::optional<PageRejection> LevelZeroPages::earlier_rejection(const std::string& name) const {
  const auto place = rejected_.find(name);
  if (place == rejected_.end() || place->second == PageRejection::too_many) return std::nullopt;
  return place->second;
}

std::vector<LevelZeroPages::Candidate> LevelZeroPages::named_as_pages(std::vector<std::string> names) const {
  constexpr std::uint64_t kClocksDiffer = 60'000'000'000;
  const std::uint64_t now = realtime_ns_();
  std::vector<Candidate> named;
  for (std::string& name : names) {
    const auto start = start_of_name(name);
    if (start) named.push_back({std::move(name), *start, *start > now && *start - now > kClocksDiffer});
  }
  return named;
}

// Returns how many files are left out at this read or, because it is their turn, only at others.
std::size_t LevelZeroPages::leave_out_most(std::vector<Candidate>& all) {
  if (all.size() <= kMostFacts) return 0;
  std::unordered_set<std::string_view> known;
  for (const auto& [identity, page] : known_) known.insert(identity.first);
  const auto others = std::partition(all.begin(), all.end(),
                                     [&](const Candidate& candidate) { return known.contains(candidate.name); });
  const auto half = (static_cast<std::ptrdiff_t>(kMostFacts) - (others - all.begin())) / 2;
  const auto left_out = others + half;
  std::nth_element(others, left_out, all.end(), [](const Candidate& a, const Candidate& b) {
    return a.future != b.future ? b.future : Candidate::newer(a, b);
  });
  // The names are a ring, in the order of their starts, and the turn goes round.
  const Candidate last{turn_.second, turn_.first};
  const auto earlier_turn = [&last](const Candidate& a, const Candidate& b) {
    const bool a_waits = Candidate::newer(last, a), b_waits = Candidate::newer(last, b);
    return a_waits != b_waits ? a_waits : Candidate::newer(a, b);
  };
  const auto end = left_out + half;
  std::nth_element(left_out, end - 1, all.end(), earlier_turn);
  turn_ = {(end - 1)->start, (end - 1)->name};
  for (auto candidate = left_out; candidate != end; ++candidate) candidate->in_turn = true;
  const std::ptrdiff_t count = all.end() - left_out;
  all.erase(end, all.end());
  return static_cast<std::size_t>(count);
}

// Those that are to be read come first. What needs not be opened to be rejected takes no place.
std::vector<LevelZeroPages::Candidate> LevelZeroPages::candidates(std::vector<Candidate> named, const Reject& reject) {
  std::vector<Candidate> all;
  for (Candidate& candidate : named) {
    const auto facts = folder_->facts(candidate.name);
    if (!facts) {
      if (!facts.is_absent()) reject(candidate, PageRejection::unreadable);
      continue;  // or removed since
    }
    if (!facts->is_file) {
      reject(candidate, PageRejection::not_a_file);
    } else if (facts->size < kLevelZeroHeadBytes || facts->size > kMaxFileBytes) {
      reject(candidate, PageRejection::size);
    } else {
      candidate.owner = facts->owner;
      candidate.doubtful = candidate.future || earlier_rejection(candidate.name);
      all.push_back(std::move(candidate));
    }
  }
  std::ranges::sort(all, [](const Candidate& a, const Candidate& b) {
    if (a.doubtful != b.doubtful) return b.doubtful;
    return Candidate::newer(a, b);
  });
  return fair_order(
      std::move(all), [](const Candidate& c) { return c.owner; }, [](const Candidate&) { return 1; });
}

void LevelZeroPages::read_one(const Candidate& candidate, Known& now, LevelZeroSnapshot& snapshot,
                              const Reject& reject) {
  const std::string& name = candidate.name;
  auto file = folder_->open(name);
  if (file.is_absent()) {
    if (file.absent().reason == Reason::permission) reject(candidate, PageRejection::denied);
    return;  // or removed since
  }
  if (!file) {
    reject(candidate,
           file.failure().code == std::errc::invalid_argument ? PageRejection::not_a_file : PageRejection::unreadable);
    return;
  }
  auto program = read_page(**file, name, now);
  if (const auto* reason = std::get_if<PageRejection>(&program)) {
    reject(candidate, *reason);
    return;
  }
  snapshot.programs.push_back(std::move(std::get<LevelZeroProgram>(program)));
  snapshot.programs.back().owner = candidate.owner;
}

std::variant<LevelZeroProgram, PageRejection> LevelZeroPages::read_page(PageFile& file, std::string_view name,
                                                                        Known& now) {
  if (file.size() < kLevelZeroHeadBytes || file.size() > kMaxFileBytes) return PageRejection::size;
  // The lock first: what a program counts before it ends is then in what is read.
  const auto holder = file.holder();
  if (!holder) return PageRejection::unreadable;
  const auto count = file.read_at(0, buffer_);
  if (!count) return PageRejection::unreadable;
  if (*count < buffer_.size()) return PageRejection::size;  // cut short meanwhile
  auto parsed = parse_level_zero_page(buffer_, file.size());
  if (const auto* reason = std::get_if<PageRejection>(&parsed)) return *reason;
  LevelZeroProgram program;
  program.name = name;
  program.page = std::move(std::get<LevelZeroPage>(parsed));
  const Identity identity{std::string(name), file.inode()};
  const auto before = known_.find(identity);
  if (before != known_.end() && !is_later_reading(before->second, program.page)) {
    now.insert(*before);  // the honest reading stays the one to compare with
    return PageRejection::implausible;
  }
  now.insert_or_assign(identity, program.page);
  program.alive = holder->has_value();
  program.pid = holder->value_or(0);
  return program;
}

}  // namespace igpu
