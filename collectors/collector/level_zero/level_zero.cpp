// SPDX-License-Identifier: Apache-2.0
#include "collector/level_zero/level_zero.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/utf8.h"

namespace igpu {
namespace {

constexpr GaugeMetric<Count, 3> kResources{
    "intel_gpu_level_zero_resources", "Live resources of a Level Zero program by kind.", {"pid", "comm", "resource"}};
constexpr GaugeMetric<Count, 3> kResourcesPeak{"intel_gpu_level_zero_resources_peak",
                                               "The most live resources of this kind at once so far.",
                                               {"pid", "comm", "resource"}};
constexpr CounterMetric<Count, 3> kCreated{
    "intel_gpu_level_zero_resources_created_total", "Resources that the program created.", {"pid", "comm", "resource"}};
constexpr CounterMetric<Count, 3> kDestroyed{"intel_gpu_level_zero_resources_destroyed_total",
                                             "Resources that the program destroyed.",
                                             {"pid", "comm", "resource"}};
constexpr GaugeMetric<Bytes, 3> kLevelZeroMemory{"intel_gpu_level_zero_memory_bytes",
                                                 "Bytes of the program's live allocations, as requested.",
                                                 {"pid", "comm", "memory"}};
constexpr GaugeMetric<Bytes, 3> kMemoryPeak{
    "intel_gpu_level_zero_memory_peak_bytes", "The most bytes allocated at once so far.", {"pid", "comm", "memory"}};
constexpr CounterMetric<Bytes, 3> kAllocated{"intel_gpu_level_zero_memory_allocated_bytes_total",
                                             "Bytes of all allocations so far, freed or not.",
                                             {"pid", "comm", "memory"}};
constexpr CounterMetric<Count, 3> kCalls{"intel_gpu_level_zero_calls_total",
                                         "Calls of a tracked function: those that create, destroy, append or reset.",
                                         {"pid", "comm", "function"}};
constexpr CounterMetric<Count, 3> kErrors{"intel_gpu_level_zero_errors_total",
                                          "Calls of a tracked function that returned an error.",
                                          {"pid", "comm", "function"}};
constexpr CounterMetric<Count, 2> kInvalidDestroys{
    "intel_gpu_level_zero_invalid_destroys_total",
    "Handles that the driver destroyed although the program never created them or had already destroyed them.",
    {"pid", "comm"}};
constexpr CounterMetric<Count, 2> kUntracked{
    "intel_gpu_level_zero_untracked_resources_total",
    "Resources that are in no other series because the tracker had no memory left.",
    {"pid", "comm"}};
constexpr GaugeMetric<Count, 3> kEnded{
    "intel_gpu_level_zero_ended",
    "Programs that ended: by exit, or killed (also by exec, _exit or a crash). Kept for a while after the end.",
    {"pid", "comm", "how"}};
constexpr GaugeMetric<Count, 3> kLeaked{"intel_gpu_level_zero_leaked_resources",
                                        "Resources that an ended program had not destroyed.",
                                        {"pid", "comm", "resource"}};
constexpr GaugeMetric<Bytes, 3> kLeakedBytes{
    "intel_gpu_level_zero_leaked_bytes", "Bytes that an ended program had not freed.", {"pid", "comm", "memory"}};
constexpr CounterMetric<Count, 1> kRejected{"intel_gpu_level_zero_pages_rejected_total",
                                            "Files in the tracker's folder that were rejected; too_many and "
                                            "too_many_series: left out beyond the limits of files and series.",
                                            {"reason"}};
constexpr FeatureDescriptor kLevelZeroFeature{
    "level_zero", "Resources of Level Zero programs that run with the tracker (docs/level-zero.md).",
    Need::tracker_folder, true};
constexpr TextOption kPath{{.flag = "path.level-zero",
                            .default_value = "/run/intel-gpu-exporter/level-zero",
                            .help = "Where the tracker inside Level Zero programs keeps its pages."},
                           "DIR"};
constexpr DurationOption kRetention{{.flag = "collector.level_zero.retention",
                                     .default_value = "15m",
                                     .help = "How long an ended program and its leaks are reported."}};
constexpr NumberOption kMostSeries{
    {.flag = "collector.level_zero.max-series",
     .default_value = "20000",
     .help = "Maximum number of series of Level Zero programs. Beyond it, the users who own the programs share it "
             "equally, and the oldest programs of the users who need more are left out."},
    100,
    1'000'000};

struct Program {
  std::string pid, comm;
  auto operator<=>(const Program&) const = default;
};

// A program in a namespace that cannot be seen from here has only its own number.
Program label(std::int32_t pid, const LevelZeroPage& page) {
  Program program{pid > 0 ? std::to_string(pid) : std::to_string(page.pid), {}};
  append_valid_utf8(program.comm, page.comm);
  return program;
}

// What a kind that has bytes is called among memories.
std::optional<std::string_view> memory_label(std::string_view kind) {
  constexpr std::string_view kPrefix = "memory_";
  if (kind.starts_with(kPrefix)) return kind.substr(kPrefix.size());
  if (kind == "virtual_memory") return "virtual";
  return std::nullopt;
}

}  // namespace

constexpr CollectorInfo LevelZeroCollector::kInfo{
    .name = "level_zero",
    .help = "Resources, memory, calls and leaks of Level Zero programs that run with the tracker.",
    .in_snapshots = false,
    .metrics =
        kListOf<MetricDescriptor, kResources, kResourcesPeak, kCreated, kDestroyed, kLevelZeroMemory, kMemoryPeak,
                kAllocated, kCalls, kErrors, kInvalidDestroys, kUntracked, kEnded, kLeaked, kLeakedBytes, kRejected>,
    .features = kListOf<FeatureDescriptor, kLevelZeroFeature>,
    .options = kListOf<OptionDescriptor, kPath, kRetention, kMostSeries>,
    .notes =
        "Only programs that run with the tracker are reported (docs/level-zero.md). Handles are counted, so leaks are "
        "exact. pid is as the exporter sees it, or the program's own if it runs in a namespace that the exporter "
        "cannot see; programs with the same pid and comm are added up.",
};

// Several files may have the same labels: a program that executed itself again, or containers that cannot be
// distinguished. Their numbers add up, because a series must not appear twice.
struct LevelZeroCollector::Sums {
  struct Calls {
    std::uint64_t calls = 0, errors = 0;
  };
  struct Running {
    std::uint64_t invalid_destroys = 0, untracked = 0;
    std::map<std::string_view, LevelZeroKindUse> resources;
    std::map<std::string_view, Calls> calls;
  };
  struct Left {
    std::uint64_t exited = 0, killed = 0;
    std::map<std::string_view, LevelZeroKindUse> resources;
  };
  std::map<Program, Running> running;
  std::map<Program, Left> left;

  static void add(std::map<std::string_view, LevelZeroKindUse>& sums, const LevelZeroPage& page) {
    for (const LevelZeroKindUse& one : page.resources) {
      LevelZeroKindUse& sum = sums[one.kind];
      sum.kind = one.kind;
      sum.created += one.created;
      sum.destroyed += one.destroyed;
      sum.live += one.live;
      sum.live_peak += one.live_peak;
      sum.bytes += one.bytes;
      sum.bytes_peak += one.bytes_peak;
      sum.bytes_allocated += one.bytes_allocated;
    }
  }

  void add_running(std::int32_t pid, const LevelZeroPage& page) {
    Running& sum = running[label(pid, page)];
    sum.invalid_destroys += page.invalid_destroys;
    sum.untracked += page.untracked;
    add(sum.resources, page);
    for (const LevelZeroCalls& one : page.calls) {
      sum.calls[one.function].calls += one.calls;
      sum.calls[one.function].errors += one.errors;
    }
  }

  void add_ended(std::int32_t pid, const LevelZeroPage& page) {
    Left& sum = left[label(pid, page)];
    ++(page.ended_realtime_ns != 0 ? sum.exited : sum.killed);
    add(sum.resources, page);
  }

  void write(SampleSink& out) const {
    for (const auto& [program, sum] : running) write(program, sum, out);
    for (const auto& [program, sum] : left) write(program, sum, out);
  }

  static void write(const Program& program, const Running& sum, SampleSink& out) {
    const auto& [pid, comm] = program;
    for (const auto& [kind, of] : sum.resources) {
      out.add(kResources, {pid, comm, kind}, count_of(of.live));
      out.add(kResourcesPeak, {pid, comm, kind}, count_of(of.live_peak));
      out.add(kCreated, {pid, comm, kind}, count_of(of.created));
      out.add(kDestroyed, {pid, comm, kind}, count_of(of.destroyed));
      const auto memory = memory_label(kind);
      if (!memory) continue;
      out.add(kLevelZeroMemory, {pid, comm, *memory}, bytes(of.bytes));
      out.add(kMemoryPeak, {pid, comm, *memory}, bytes(of.bytes_peak));
      out.add(kAllocated, {pid, comm, *memory}, bytes(of.bytes_allocated));
    }
    for (const auto& [function, of] : sum.calls) {
      out.add(kCalls, {pid, comm, function}, count_of(of.calls));
      out.add(kErrors, {pid, comm, function}, count_of(of.errors));
    }
    out.add(kInvalidDestroys, {pid, comm}, count_of(sum.invalid_destroys));
    out.add(kUntracked, {pid, comm}, count_of(sum.untracked));
  }

  static void write(const Program& program, const Left& sum, SampleSink& out) {
    const auto& [pid, comm] = program;
    if (sum.exited != 0) out.add(kEnded, {pid, comm, "exit"}, count_of(sum.exited));
    if (sum.killed != 0) out.add(kEnded, {pid, comm, "killed"}, count_of(sum.killed));
    for (const auto& [kind, of] : sum.resources) {
      out.add(kLeaked, {pid, comm, kind}, count_of(of.live));
      if (const auto memory = memory_label(kind)) out.add(kLeakedBytes, {pid, comm, *memory}, bytes(of.bytes));
    }
  }

  static Bytes bytes(std::uint64_t value) { return Bytes{static_cast<double>(value)}; }
};

// A program whose series can be on the page.
struct LevelZeroCollector::Shown {
  const std::string* name;
  const LevelZeroPage* page;
  std::uint32_t owner;
  std::int32_t pid;
  bool running;

  // At most: programs with the same labels share series.
  std::uint64_t series() const {
    std::uint64_t sum = running ? 2 + 2 * page->calls.size() : 1;
    for (const LevelZeroKindUse& of : page->resources)
      sum += (running ? 4U : 1U) + (memory_label(of.kind) ? (running ? 3U : 1U) : 0U);
    return sum;
  }
};

std::unique_ptr<MachineCollector> LevelZeroCollector::create(const MachineContext& context) {
  auto folder = context.machine.page_folder ? context.machine.page_folder(context.options[kPath]) : nullptr;
  return std::make_unique<LevelZeroCollector>(std::move(folder), context.options[kRetention],
                                              context.options[kMostSeries]);
}

LevelZeroCollector::LevelZeroCollector(std::unique_ptr<PageFolder> folder, Nanoseconds retention,
                                       std::uint64_t most_series, std::function<std::uint64_t()> realtime_ns)
    : pages_(std::move(folder), realtime_ns),
      retention_(retention),
      most_series_(most_series),
      realtime_ns_(std::move(realtime_ns)) {}

void LevelZeroCollector::collect(Nanoseconds now, SampleSink& out) {
  auto snapshot = pages_.read([this](std::string_view name) { return ended_.find(name) != ended_.end(); });
  if (!snapshot) {
    // The tracker is not installed. It is optional, so this is no finding.
    if (snapshot.is_absent() && snapshot.absent().reason == Reason::kernel)
      out.absent(kLevelZeroFeature, {Reason::disabled, snapshot.absent().os_error});
    else
      out.missing(kLevelZeroFeature, snapshot);
    return;
  }
  out.available(kLevelZeroFeature);
  Sums sums;
  add_fair_share(follow(*snapshot, now), sums);
  sums.write(out);
  for (std::size_t i = 0; i < kPageRejections; ++i) {
    rejected_[i] += snapshot->rejected[i];
    out.add(kRejected, {to_string(static_cast<PageRejection>(i))}, count_of(rejected_[i]));
  }
}

// A page says when its program's exit handlers ran; when a killed one ended is unknown, so it counts from now.
Nanoseconds LevelZeroCollector::since_end(const LevelZeroPage& page) const {
  const std::uint64_t now = realtime_ns_();
  if (page.ended_realtime_ns == 0 || page.ended_realtime_ns >= now) return Nanoseconds{0};
  return Nanoseconds{static_cast<Nanoseconds::rep>(now - page.ended_realtime_ns)};
}

// Newest first. They point into the snapshot and into ended_.
std::vector<LevelZeroCollector::Shown> LevelZeroCollector::follow(LevelZeroSnapshot& snapshot, Nanoseconds now) {
  const std::set<std::string, std::less<>> still_there(snapshot.skipped.begin(), snapshot.skipped.end());
  std::erase_if(ended_, [&](const auto& entry) { return !still_there.contains(entry.first); });
  std::map<std::string, std::int32_t> running;
  std::vector<Shown> shown;
  for (LevelZeroProgram& program : snapshot.programs) {
    if (program.alive) {
      running.emplace(program.name, program.pid);
      shown.push_back({&program.name, &program.page, program.owner, program.pid, true});
      continue;
    }
    const auto known = pids_.find(program.name);
    const Nanoseconds since = now - since_end(program.page);
    ended_.emplace(program.name,
                   Ended{std::move(program.page), program.owner, known == pids_.end() ? 0 : known->second, since});
  }
  pids_ = std::move(running);
  for (auto& [name, ended] : ended_)
    if (ended.reported && now - ended.since > retention_) ended.forget();
  forget_most_ended();
  const auto first_ended = static_cast<std::ptrdiff_t>(shown.size());
  for (const auto& [name, ended] : ended_)
    if (ended.reported) shown.push_back({&name, &ended.page, ended.owner, ended.pid, false});
  std::stable_sort(shown.begin() + first_ended, shown.end(), [](const Shown& a, const Shown& b) {
    return a.page->started_realtime_ns > b.page->started_realtime_ns;
  });
  return shown;
}

// Programs that end make room for others to be read, and must not fill the memory.
void LevelZeroCollector::forget_most_ended() {
  std::vector<Ended*> reported;
  for (auto& [name, ended] : ended_)
    if (ended.reported) reported.push_back(&ended);
  if (reported.size() <= LevelZeroPages::kMostPages) return;
  std::ranges::stable_sort(reported, [](const Ended* a, const Ended* b) { return a->since > b->since; });
  reported = fair_order(
      std::move(reported), [](const Ended* ended) { return ended->owner; }, [](const Ended*) { return 1; });
  for (std::size_t i = LevelZeroPages::kMostPages; i < reported.size(); ++i) {
    reported[i]->forget();
    count_rejection(PageRejection::too_many);
  }
}

void LevelZeroCollector::add_fair_share(std::vector<Shown> programs, Sums& sums) {
  programs = fair_order(
      std::move(programs), [](const Shown& program) { return program.owner; },
      [](const Shown& program) { return program.series(); });
  std::uint64_t series = 0;
  std::set<std::string> without_series;
  for (const Shown& program : programs) {
    const std::uint64_t more = program.series();
    if (series + more > most_series_) {
      if (!without_series_.contains(*program.name)) count_rejection(PageRejection::too_many_series);
      without_series.insert(*program.name);
      continue;
    }
    series += more;
    if (program.running)
      sums.add_running(program.pid, *program.page);
    else
      sums.add_ended(program.pid, *program.page);
  }
  without_series_ = std::move(without_series);
}

CollectorEntry level_zero_collector() { return entry<LevelZeroCollector>(); }

}  // namespace igpu
