// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "igpu/level_zero.h"
#include "level_zero/level_zero_pages.h"
#include "level_zero/tracker/api_table.h"
#include "level_zero/tracker/log_layout.h"
#include "level_zero/tracker/page_layout.h"

namespace igpu {
namespace {

using namespace level_zero;

class LogView {
 public:
  explicit LogView(std::span<const std::byte> bytes) : bytes_(bytes), header_(at<Header>(0)) {}

  const Header& header() const { return header_; }
  template <class T>
  T at(std::uint64_t offset) const {
    T value{};
    if (offset <= bytes_.size() && sizeof value <= bytes_.size() - offset)
      std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::vector<LevelZeroFrame> frames(std::uint32_t site) const {
    std::vector<LevelZeroFrame> frames;
    if (site >= kMaxSites) return frames;
    const std::uint64_t offset = kSitesOffset + site * site_bytes(header_.frames_per_site);
    const auto site_header = at<SiteHeader>(offset);
    if (site_header.ready != 1) return frames;
    const std::uint32_t depth = std::min(site_header.depth, header_.frames_per_site);
    for (std::uint32_t i = 0; i < depth; ++i)
      frames.push_back(frame(at<std::uint64_t>(offset + sizeof(SiteHeader) + i * sizeof(std::uint64_t))));
    return frames;
  }

 private:
  LevelZeroFrame frame(std::uint64_t address) const {
    for (std::uint32_t i = 0; i < std::min(header_.modules, kMaxModules); ++i) {
      const auto module = at<Module>(kModulesOffset + i * sizeof(Module));
      if (address < module.begin || address > module.end) continue;
      const char* end = std::find(module.path, module.path + sizeof module.path, '\0');
      return {std::string(module.path, end), address - module.load_address};
    }
    return {{}, address};
  }

  std::span<const std::byte> bytes_;
  Header header_;
};

// The live resources of a page by the place in the program that created them. bytes: the whole file, which
// parse_level_zero_page() has accepted.
std::vector<LevelZeroSite> live_level_zero_sites(std::span<const std::byte> bytes) {
  const LogView file(bytes);
  std::map<std::tuple<std::uint8_t, std::uint16_t, std::uint32_t>, LevelZeroSite> sites;
  const std::uint64_t room =
      bytes.size() < file.header().entries_offset ? 0 : (bytes.size() - file.header().entries_offset) / sizeof(Entry);
  for (std::uint64_t i = 0; i < std::min(file.header().entries, room); ++i) {
    const auto entry = file.at<Entry>(file.header().entries_offset + i * sizeof(Entry));
    if (entry.state != static_cast<std::uint8_t>(EntryState::live) || entry.kind >= kKinds ||
        entry.function >= kFunctions)
      continue;
    LevelZeroSite& site = sites[{entry.kind, entry.function, entry.site}];
    const std::uint64_t began = file.header().started_monotonic_ns;
    // The clock of entries is a coarse one.
    const double seconds =
        entry.created_monotonic_ns < began ? 0 : static_cast<double>(entry.created_monotonic_ns - began) / 1e9;
    if (site.count == 0) {
      site.kind = kKindNames[entry.kind];
      site.function = kFunctionNames[entry.function];
      site.frames = file.frames(entry.site);
      site.first_seconds = site.last_seconds = seconds;
    }
    ++site.count;
    site.bytes += entry.bytes;
    site.first_seconds = std::min(site.first_seconds, seconds);
    site.last_seconds = std::max(site.last_seconds, seconds);
  }
  std::vector<LevelZeroSite> sorted;
  sorted.reserve(sites.size());
  for (auto& [key, site] : sites) sorted.push_back(std::move(site));
  std::ranges::stable_sort(sorted, [](const LevelZeroSite& a, const LevelZeroSite& b) {
    return std::tie(a.bytes, a.count) > std::tie(b.bytes, b.count);
  });
  return sorted;
}

LevelZeroProcess described(const LevelZeroPage& page) {
  LevelZeroProcess process;
  process.comm = page.comm;
  process.executable = page.executable;
  process.pid = page.pid;
  process.exited = page.ended_realtime_ns != 0;
  process.started_realtime_ns = page.started_realtime_ns;
  process.ended_realtime_ns = page.ended_realtime_ns;
  process.invalid_destroys = page.invalid_destroys;
  process.untracked = page.untracked;
  for (const LevelZeroCalls& calls : page.calls) {
    process.calls += calls.calls;
    process.errors += calls.errors;
  }
  process.kinds = page.resources;
  return process;
}

}  // namespace

std::optional<LevelZeroProcess> describe_level_zero_page(std::span<const std::byte> file) {
  const auto parsed = parse_level_zero_page(file, file.size());
  const auto* page = std::get_if<LevelZeroPage>(&parsed);
  if (page == nullptr) return std::nullopt;
  LevelZeroProcess process = described(*page);
  process.live = live_level_zero_sites(file);
  return process;
}

Reading<LevelZeroFolder> read_level_zero_folder(const std::string& path) {
  LevelZeroPages pages(open_page_folder(path));
  auto snapshot = pages.read();
  if (!snapshot) return snapshot.propagate<LevelZeroFolder>();
  LevelZeroFolder folder;
  for (const std::uint64_t rejected : snapshot->rejected) folder.rejected += rejected;
  for (const LevelZeroProgram& program : snapshot->programs) {
    LevelZeroProcess& process = folder.processes.emplace_back(described(program.page));
    process.file = program.name;
    process.alive = program.alive;
    if (program.alive) process.exited = false;
    if (program.pid > 0) process.pid = program.pid;
  }
  return folder;
}

using namespace level_zero;

std::optional<LevelZeroLogReader> LevelZeroLogReader::open(std::span<const std::byte> log) {
  LogHeader header{};
  if (log.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, log.data(), sizeof header);
  if (header.magic != kLogMagic || header.version != kLogVersion) return std::nullopt;
  LevelZeroLogReader reader;
  reader.with_memory_ = header.event_bytes == sizeof(LogEvent) + sizeof(LogMemory);
  if (header.event_bytes != sizeof(LogEvent) && !reader.with_memory_) return std::nullopt;
  reader.event_bytes_ = header.event_bytes;
  reader.pid_ = header.pid;
  reader.rest_ = log.subspan(sizeof header);
  return reader;
}

std::optional<LevelZeroEvent> LevelZeroLogReader::next() {
  while (rest_.size() >= event_bytes_) {
    LogEvent raw{};
    LogMemory memory{};
    std::memcpy(&raw, rest_.data(), sizeof raw);
    if (with_memory_) std::memcpy(&memory, rest_.data() + sizeof raw, sizeof memory);
    rest_ = rest_.subspan(event_bytes_);
    if (raw.function >= kFunctions) {
      ++unreadable_;
      continue;
    }
    LevelZeroEvent event;
    event.since_start_ns = raw.since_start_ns;
    event.function = kFunctionNames[raw.function];
    const FunctionAct act = kFunctionActs[raw.function];
    if (act.act == Act::create || act.act == Act::destroy) event.kind = kKindNames[act.kind];
    event.destroys = act.act == Act::destroy;
    event.thread = raw.thread;
    event.result = raw.result;
    event.handle = raw.handle;
    event.total_bytes = raw.total_bytes;
    std::copy(std::begin(raw.counts), std::end(raw.counts), event.counts.begin());
    event.vm_size = memory.size;
    event.vm_resident = memory.resident;
    event.vm_data = memory.data;
    event.vm_peak = memory.peak;
    event.threads = memory.threads;
    event.size_change = memory.size_change;
    event.resident_change = memory.resident_change;
    event.data_change = memory.data_change;
    return event;
  }
  if (!rest_.empty()) ++unreadable_;
  rest_ = {};
  return std::nullopt;
}

}  // namespace igpu
