// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/counter_window.h"
#include "collector/engines/engines.h"
#include "collector/engines/engines_clients.h"
#include "kernel/device/drm_query.h"
#include "kernel/pmu/engine_events.h"
#include "kernel/pmu/pmu_files.h"
#include "kernel/sriov/sriov_files.h"
#include "kernel/sysfs/gt_sysfs.h"

namespace igpu {
namespace {

constexpr Nanoseconds kIdleBeforeClosing = std::chrono::seconds(60);
// Scans further apart than this are not regular monitoring: what happened in between does not call for an
// open PMU until the next one.
constexpr Nanoseconds kUnwatched = std::chrono::minutes(5);
// A GT is working if its C6 residency is lower than when idle by this fraction of the time.
constexpr double kMissingResidency = 0.03;
// Residency has a resolution of milliseconds and is updated in steps; over less time than this it is meaningless.
constexpr Nanoseconds kShortestResidency = std::chrono::milliseconds(500);
// While some clients are hidden, what was learned about an idle GT is checked again after this time.
constexpr Nanoseconds kBelieved = std::chrono::minutes(10);

// Decides when the PMU of an xe GPU is open: from the first sign of activity until a minute without activity has
// passed.
//
// Signs of work while it is closed: a visible client's engine time moved, or a GT spent less time in C6 than it does
// when it is idle. The latter detects work of hidden clients. The C6 share of an idle GT is learned, since on some
// desktops it is zero: if the PMU, opened after such a sign, shows no busy engine for a minute, that share becomes the
// idle share.
class XeSleepWatch {
 public:
  XeSleepWatch(const Directory& sys, std::string_view pci_path) : idle_(sys, pci_path) {}

  // Whether to open the closed PMU. clients_moved: a client's engine time has moved since the last scan. some_hidden:
  // not every client is visible. Reads the residencies only if the visible clients were idle.
  bool should_open(Nanoseconds now, bool clients_moved, bool some_hidden) {
    const bool nobody_watched = unwatched(now);
    last_scan_ = now;
    bool open = clients_moved;
    doubtful_ = false;
    if (!open) doubtful_ = open = residency_drops(now, some_hidden);
    return open && !nobody_watched;
  }

  void opened(Nanoseconds now) {
    last_scan_ = last_activity_ = now;
    for (Gt& gt : gts_) gt.milliseconds.reset();  // an open PMU keeps the GT awake: its residency is meaningless now
  }

  // Whether to close the open PMU. active: an engine worked since the last scan.
  bool should_close(Nanoseconds now, bool active) {
    const bool nobody_watched = unwatched(now);
    last_scan_ = now;
    if (active) {
      last_activity_ = now;
      doubtful_ = false;
    }
    if (nobody_watched) {
      doubtful_ = false;  // too few scans to learn from
      return true;
    }
    return now - last_activity_ >= kIdleBeforeClosing;
  }

  void closed(Nanoseconds now) {
    last_scan_ = now;
    for (Gt& gt : gts_) {
      gt.milliseconds.reset();
      if (doubtful_ && gt.sign) {
        gt.idle_fraction = *gt.sign;
        gt.learned_at = now;
      }
      gt.sign.reset();
    }
    doubtful_ = false;
  }

  // Call when the PMU was closed early or the GPU sleeps: nothing is measured, and windows restart.
  void restart() {
    last_scan_.reset();
    doubtful_ = false;
    for (Gt& gt : gts_) {
      gt.milliseconds.reset();
      gt.sign.reset();
    }
  }

 private:
  struct Gt {
    double idle_fraction = 1;  // share of the time that the idle GT spends in C6
    Nanoseconds learned_at{};
    std::optional<double> sign;  // the fraction for which the PMU was opened
    std::optional<std::uint64_t> milliseconds;
    Nanoseconds read_at{};
  };

  bool residency_drops(Nanoseconds now, bool some_hidden) {
    const auto& residencies = idle_.read();
    gts_.resize(residencies.size());
    bool drops = false;
    for (std::size_t i = 0; i < residencies.size(); ++i) {
      Gt& gt = gts_[i];
      gt.sign.reset();
      const auto& reading = residencies[i].milliseconds;
      if (!reading) {
        gt.milliseconds.reset();
        continue;
      }
      const bool restarted = gt.milliseconds && *reading < *gt.milliseconds;
      if (!gt.milliseconds || restarted) {
        gt.milliseconds = *reading;
        gt.read_at = now;
        continue;
      }
      const Nanoseconds elapsed = now - gt.read_at;
      if (elapsed < kShortestResidency) continue;
      const double fraction = static_cast<double>(*reading - *gt.milliseconds) * 1e-3 / to_seconds(elapsed).value;
      gt.milliseconds = *reading;
      gt.read_at = now;
      if (some_hidden && gt.idle_fraction < 1 && now - gt.learned_at > kBelieved) gt.idle_fraction = 1;
      if (fraction < gt.idle_fraction - kMissingResidency) {
        gt.sign = fraction;
        drops = true;
      }
    }
    return drops;
  }

  bool unwatched(Nanoseconds now) const { return last_scan_ && now - *last_scan_ > kUnwatched; }

  XeGtIdle idle_;
  std::vector<Gt> gts_;
  std::optional<Nanoseconds> last_scan_;
  Nanoseconds last_activity_{};
  bool doubtful_ = false;  // opened because of a residency, and no engine has been busy since
};

std::array<std::uint32_t, kEngineClasses> engines_by_class(const std::vector<EngineInstance>& engines) {
  std::array<std::uint32_t, kEngineClasses> counts{};
  for (const EngineInstance& engine : engines) ++counts[static_cast<std::size_t>(engine.engine_class)];
  return counts;
}

// Engines of an xe GPU: pairs of the events engine-active-ticks and engine-total-ticks of its PMU. An open xe event
// keeps the GPU out of C6 and D3, so the PMU is open only while the GPU works (see XeSleepWatch). While it is closed,
// the clients' time is counted.
//
// On a physical function with SR-IOV virtual functions enabled, the event of an engine counts for function 0, the
// host's own, and each virtual function has an event of its own. The engine's busy time is their sum.
class XeEnginesCollector final : public Collector {
 public:
  explicit XeEnginesCollector(const CollectorContext& context)
      : machine_(context.machine),
        gpu_(context.gpu),
        pmu_(context.gpu_pmu),
        memory_(context.memory),
        min_window_(context.min_window),
        source_(context.options[EnginesCollector::kXeSource]),
        enabled_vfs_(context.machine.sys, context.gpu),
        sleep_(context.machine.sys, context.gpu.pci_path),
        clients_(context.memory, context.gpu.address, context.min_window) {}

  void collect(ScrapePass& pass, SampleSink& out) override {
    ask_node();
    follow_functions(out);
    clients_ratio_ = false;
    hidden_.reset();
    if (open_ || source_ == XeEngineSource::pmu) {
      read_pmu(pass, out);
    } else {
      watch_clients(pass, out);
    }
    // Both stay on the page; only the one that measures advances.
    if (source_ != XeEngineSource::pmu) clients_.write(out, clients_ratio_);
    report_features(out);
    if (functions_.number > 0) pass.facts().put(gpu_.address, vf_engines());
  }

  void gpu_is_suspended() override {
    // Impossible with an open PMU, unless the driver was configured to suspend in spite of it.
    if (open_ || pmu_.is_open()) {
      pmu_.close();
      open_ = false;
      pmu_start_.reset();
      clients_.skip_gap();
    }
    sleep_.restart();
    clients_.note_sleep(machine_.clock.now());
  }

 private:
  // Time from ticks, and its share of the window.
  struct BusyTime {
    BusyTime(MonotonicCounter& counter, Nanoseconds min_window) : nanoseconds(counter), window(min_window) {}

    // Adds `worked` of `passed` ticks, which took `elapsed` nanoseconds.
    void add(std::uint64_t worked, std::uint64_t passed, double elapsed) {
      if (passed == 0) return;
      const double share = static_cast<double>(in_time.in_time(worked, passed)) / static_cast<double>(passed);
      nanoseconds.add(static_cast<std::uint64_t>(std::llround(share * elapsed)));
    }

    void advance(Nanoseconds time, std::uint64_t active, std::uint64_t total) {
      if (const auto delta = window.advance(time, {active, total}))
        ratio = clamped_ratio(static_cast<double>(delta->counts[0]), static_cast<double>(delta->counts[1]));
    }

    MonotonicCounter& nanoseconds;
    EngineBusy in_time;
    CounterWindow<2> window;  // active, total
    std::optional<Ratio> ratio;
  };
  // One engine for one virtual function.
  struct VirtualShare {
    EventGain active;
    BusyTime busy;
  };
  struct Engine {
    Engine(const EngineInstance& engine, PmuSession& pmu, CounterMemory& memory, Nanoseconds min_window)
        : instance(engine),
          gt(std::to_string(instance.gt)),
          name(xe_engine_name(instance)),
          engine_class(instance.engine_class),
          active(pmu.want(kXeActiveTicks, xe_engine_terms(instance))),
          total(pmu.want(kXeTotalTicks, xe_engine_terms(instance))),
          busy(memory.counter("busy/gt" + gt + "/" + name), min_window) {}
    std::string_view class_label() const { return names_of(engine_class).label; }

    EngineInstance instance;
    std::string gt;
    std::string name;
    EngineClass engine_class;
    EventGain active, total;
    BusyTime busy;                      // of all functions
    std::uint64_t own_nanoseconds = 0;  // of function 0, since the GPU was bound
    std::uint64_t beyond_total = 0;     // ticks of the whole engine that are not in the total of function 0
    std::vector<VirtualShare> functions;
  };

  Reading<Unit> find_engines() {
    const Reading<std::vector<EngineInstance>> engines =
        xe_pmu_engines(machine_, gpu_, pmu_, source_ == XeEngineSource::automatic);
    if (!engines) {
      undescribed_ = engines.is_absent() && engines.absent() == kNotDescribed;
      return engines.propagate<Unit>();
    }
    engines_.reserve(engines->size());
    for (const EngineInstance& instance : *engines) engines_.emplace_back(instance, pmu_, memory_, min_window_);
    clients_.set_engines(engines_by_class(*engines));
    found_ = true;
    count_functions();
    return Unit{};
  }

  void follow_functions(SampleSink& out) {
    if (gpu_.virtual_function) return;
    const auto counted = enabled_vfs_.counted();
    enabled_ = counted.map([](const EnabledVfs::Counted& functions) { return functions.enabled; });
    if (!counted) return out.failed(counted.failure());  // their events stay open
    if (std::exchange(functions_, *counted) == *counted) return;
    pmu_.close();
    pmu_start_.reset();
    usable_ = Absent{};  // opens a PMU that is closed once, to see whether it counts the functions
    hertz_.reset();
    if (functions_.number > 0) hertz_ = xe_reference_clock(machine_.drm, gpu_.render_node);
    count_functions();
  }

  void count_functions() {
    for (Engine& engine : engines_) {
      for (const VirtualShare& share : engine.functions) pmu_.drop(share.active.handle());
      engine.functions.clear();
      for (std::uint32_t vf = 1; vf <= functions_.number; ++vf) {
        MonotonicCounter& counter =
            memory_.counter("busy/vf" + std::to_string(vf) + "/gt" + engine.gt + "/" + engine.name);
        engine.functions.push_back({EventGain(pmu_.want(kXeActiveTicks, xe_engine_terms(engine.instance, vf))),
                                    BusyTime(counter, min_window_)});
      }
    }
  }

  // Opens the PMU if need be and reads it.
  Reading<Unit> try_pmu(ScrapePass& pass) {
    if (undescribed_) return kNotDescribed;  // opening it again would only wake the GPU
    if (!found_)
      if (const auto found = find_engines(); !found) return found;
    if (engines_.empty()) return Absent{Reason::hardware, ENODEV};
    const auto refreshed = pmu_.refresh(pass.number());
    if (!refreshed || source_ != XeEngineSource::automatic) return refreshed;
    // An engine whose event cannot be described would be missing while the PMU measures; its clients are not.
    for (const Engine& engine : engines_) {
      const auto active = pmu_.count(engine.active.handle());
      if (!active.is_absent() || active.absent() != kNotDescribed) continue;
      pmu_.close();
      undescribed_ = true;
      return kNotDescribed;
    }
    return refreshed;
  }

  // Once, when the GPU is first seen awake: classes that no client has reported are known.
  void ask_node() {
    if (std::exchange(asked_node_, true)) return;
    const auto node = machine_.drm.open(gpu_.render_node);
    if (!node) return;
    if (const auto engines = xe_engines(**node)) clients_.set_engines(engines_by_class(*engines));
  }

  // After a successful read: ticks become seconds. Whether any engine was active since the last one.
  bool take_ticks() {
    const Nanoseconds time = pmu_.time();
    const Nanoseconds since = time - last_time_;
    const double elapsed = static_cast<double>(since.count());
    last_time_ = time;
    const bool reopened = pmu_.generation() != generation_;
    generation_ = pmu_.generation();
    bool active_at_all = false;
    stepped_back_ = false;
    const PmuSession::Values values = pmu_.values();
    for (Engine& engine : engines_) {
      engine.busy.ratio.reset();
      if (reopened) {
        engine.busy.window.restart();
        engine.beyond_total = 0;
      }
      if (!values.count(engine.active.handle()) || !values.count(engine.total.handle())) continue;
      (void)engine.total.take(values, reopened);
      (void)engine.active.take(values, reopened);
      const std::uint64_t in_total = engine.total.gain();
      const bool is_share = in_total != 0 && !engine.functions.empty();
      const std::uint64_t passed = is_share ? ticks_of_engine(in_total, since, hertz_) : in_total;
      if (!reopened) engine.beyond_total += passed - in_total;
      const std::uint64_t whole = engine.total.raw() + engine.beyond_total;
      std::uint64_t raw = engine.active.raw();
      std::uint64_t worked = engine.active.gain();
      bool stepped_back = engine.active.stepped_back();
      for (VirtualShare& share : engine.functions) {
        share.busy.ratio.reset();
        if (reopened) share.busy.window.restart();
        (void)share.active.take(values, reopened);
        stepped_back = stepped_back || share.active.stepped_back();
        worked += share.active.gain();
        raw += share.active.raw();
        share.busy.add(share.active.gain(), passed, elapsed);
        share.busy.advance(time, share.active.raw(), whole);
      }
      active_at_all = active_at_all || worked != 0;
      if (passed != 0) {
        engine.busy.add(worked, passed, elapsed);
        const double own_share = std::min(static_cast<double>(engine.active.gain()) / static_cast<double>(passed), 1.0);
        engine.own_nanoseconds += static_cast<std::uint64_t>(std::llround(own_share * elapsed));
      }
      if (stepped_back) engine.busy.window.restart();
      stepped_back_ = stepped_back_ || stepped_back;
      engine.busy.advance(time, raw, whole);
      if (engine.busy.ratio) awaits_ratio_ = false;
    }
    return active_at_all;
  }

  ClientEngineTime::ByClass busy_by_class() const {
    ClientEngineTime::ByClass sums{};
    for (const Engine& engine : engines_)
      sums[static_cast<std::size_t>(engine.engine_class)] += engine.busy.nanoseconds.total();
    return sums;
  }

  // Of function 0, whose clients are those of this machine.
  ClientEngineTime::ByClass own_busy_by_class() const {
    ClientEngineTime::ByClass sums{};
    for (const Engine& engine : engines_) sums[static_cast<std::size_t>(engine.engine_class)] += engine.own_nanoseconds;
    return sums;
  }

  // Some milliseconds lie between the last scan of the clients and the opening of the PMU, more on a machine with many
  // processes. The clients' counters include that time; this reads them once more.
  void count_gap_before_pmu(ScrapePass& pass, Nanoseconds read_at) {
    ClientEngineTime::PmuCount counted = *std::exchange(pmu_start_, std::nullopt);
    const auto sums = own_busy_by_class();
    for (std::size_t i = 0; i < kEngineClasses; ++i) counted.nanoseconds[i] = sums[i] - counted.nanoseconds[i];
    counted.until = read_at;
    if (const auto snapshot = pass.clients()) {
      clients_.count_gap(**snapshot, counted);
    } else {
      clients_.forget();
    }
  }

  // The clients take over.
  void close_pmu(ScrapePass& pass, SampleSink& out) {
    pmu_.close();
    open_ = false;
    pmu_start_.reset();
    // The PMU has counted what the clients did so far.
    clients_.forget();
    (void)clients_.scan(pass, out);
  }

  // The clients measure, and their activity opens the PMU.
  void watch_clients(ScrapePass& pass, SampleSink& out) {
    bool moved = false;
    bool some_hidden = true;
    const auto snapshot = pass.clients();
    if (snapshot) {
      // With the rate known the first scan already counts in seconds.
      if (const auto& clocks = (*snapshot)->clocks) clocks->query_driver(machine_.drm, gpu_);
      moved = clients_.scan(**snapshot);
      clients_ratio_ = true;
      hidden_ = (*snapshot)->why_hidden();
      // The clients of virtual functions are in other machines.
      some_hidden = hidden_ || !(*snapshot)->complete || functions_.number > 0;
    } else if (snapshot.is_failure()) {
      out.failed(snapshot.failure());
    } else {
      hidden_ = snapshot.absent();
    }
    if (source_ == XeEngineSource::automatic) {
      // What virtual functions do before the PMU is open is not known, so it does not wait for a sign of work.
      bool should_open = !usable_ && functions_.number > 0;
      if (!usable_) {
        // Permission may have been granted meanwhile. If the PMU can be opened, it is closed again at once: the GPU is
        // idle.
        usable_ = try_pmu(pass);
        if (usable_) {
          (void)take_ticks();
          pmu_.close();
        } else if (usable_.is_failure()) {
          out.failed(usable_.failure());
        }
      }
      if (usable_) should_open = sleep_.should_open(pass.now(), moved, some_hidden) || should_open;
      if (usable_ && should_open) {
        // Since the last scan virtual functions may have worked, too.
        if (functions_.number > 0) clients_ratio_ = false;
        const ClientEngineTime::PmuCount begin{own_busy_by_class(), pass.now(), {}};
        clients_.pmu_begins(busy_by_class());
        usable_ = try_pmu(pass);
        if (usable_) {
          (void)take_ticks();
          open_ = true;
          awaits_ratio_ = true;
          pmu_start_ = begin;
          sleep_.opened(pass.now());
          write_engines(false, out);
          return;
        }
        if (usable_.is_failure()) out.failed(usable_.failure());
      }
      if (usable_) write_engines(false, out);
    }
  }

  // The PMU measures.
  void read_pmu(ScrapePass& pass, SampleSink& out) {
    usable_ = try_pmu(pass);
    if (usable_.is_failure()) {
      out.failed(usable_.failure());  // it stays open: the next read may succeed
      return;
    }
    if (!usable_) {
      if (source_ != XeEngineSource::automatic) return;
      sleep_.restart();
      clients_.skip_gap();
      close_pmu(pass, out);
      return;
    }
    const bool active = take_ticks();
    const Nanoseconds read_at = pass.now();
    write_engines(true, out);
    if (source_ != XeEngineSource::automatic) {
      pass.facts().put(gpu_.address, clients_.total_with(busy_by_class()));
      return;
    }
    if (clients_.awaits_rate())
      if (const auto snapshot = pass.clients()) clients_.use_rate(**snapshot);
    if (pmu_start_) count_gap_before_pmu(pass, read_at);
    clients_.pmu_measured(read_at, busy_by_class(), stepped_back_);
    clients_ratio_ = awaits_ratio_ && functions_.number == 0;
    pass.facts().put(gpu_.address, clients_.total_with(busy_by_class()));
    if (sleep_.should_close(pass.now(), active)) {
      sleep_.closed(pass.now());
      close_pmu(pass, out);
    }
  }

  void write_engines(bool with_ratios, SampleSink& out) const {
    const PmuSession::Values values = pmu_.values();
    for (const Engine& engine : engines_) {
      const auto active = values.count(engine.active.handle());
      const auto total = values.count(engine.total.handle());
      if (!active || !total) continue;
      out.add(EnginesCollector::kBusy, {gpu_.address, engine.gt, engine.name, engine.class_label(), "pmu"},
              Seconds{static_cast<double>(engine.busy.nanoseconds.total()) / 1e9});
      if (with_ratios && engine.busy.ratio)
        out.add(EnginesCollector::kBusyRatio, {gpu_.address, engine.gt, engine.name, engine.class_label(), "pmu"},
                *engine.busy.ratio);
      out.add(EnginesCollector::kActiveTicks, {gpu_.address, engine.gt, engine.name, engine.class_label()},
              Ticks{static_cast<double>(*active)});
      out.add(EnginesCollector::kTicks, {gpu_.address, engine.gt, engine.name, engine.class_label()},
              Ticks{static_cast<double>(*total)});
    }
  }

  void report_features(SampleSink& out) const {
    if (source_ == XeEngineSource::fdinfo) {
      out.absent(EnginesCollector::kBusyFeature, {Reason::disabled});
    } else if (usable_ && hidden_) {
      // A closed PMU counts nothing, and the activity of hidden clients is visible only when it is open.
      out.absent(
          hidden_->reason == Reason::suspended ? EnginesCollector::kBusyByLink : EnginesCollector::kBusyByClients,
          *hidden_);
    } else if (usable_) {
      out.available(EnginesCollector::kBusyFeature);
    } else if (usable_.is_absent()) {
      Absent why = usable_.absent();
      if (gpu_.virtual_function && why.reason == Reason::kernel) why.reason = Reason::hardware;
      out.absent(EnginesCollector::kBusyFeature, why);
    }
    // No version of the driver has these.
    const Absent never{gpu_.virtual_function ? Reason::hardware : Reason::kernel};
    out.absent(EnginesCollector::kWaitFeature, never);
    out.absent(EnginesCollector::kInterruptsFeature, never);
  }

  VfEngines vf_engines() const {
    VfEngines engines;
    engines.enabled = enabled_;
    if (source_ == XeEngineSource::fdinfo) return engines;
    engines.counted = usable_;
    if (!usable_) return engines;
    if (const auto missing = take_shares(engines.times))
      if (const auto count = pmu_.count(*missing); !count) engines.counted = count.propagate<Unit>();
    return engines;
  }

  // Returns the first event that has no value, with which it ends.
  std::optional<PmuSession::Handle> take_shares(std::vector<VfEngineTime>& times) const {
    const bool is_open = pmu_.is_open();
    const PmuSession::Values values = pmu_.values();
    times.reserve(engines_.size() * functions_.number);
    for (const Engine& engine : engines_) {
      std::uint32_t vf = 0;
      for (const VirtualShare& share : engine.functions) {
        if (!values.count(share.active.handle())) return share.active.handle();
        times.push_back({++vf, engine.gt, engine.name, engine.class_label(), share.busy.nanoseconds.total(),
                         is_open ? share.busy.ratio : std::nullopt});
      }
    }
    return std::nullopt;
  }

  Machine& machine_;
  const Gpu& gpu_;
  PmuSession& pmu_;
  CounterMemory& memory_;
  const Nanoseconds min_window_;
  const XeEngineSource source_;
  EnabledVfs enabled_vfs_;
  EnabledVfs::Counted functions_;        // the last that could be read
  Reading<std::uint32_t> enabled_ = 0U;  // as read in this scrape
  std::optional<double> hertz_;          // rate of the ticks, while functions are enabled; nullopt: not known
  bool asked_node_ = false;
  bool found_ = false;
  std::vector<Engine> engines_;
  bool undescribed_ = false;         // the PMU does not describe the events of all engines, so it is not used
  Reading<Unit> usable_ = Absent{};  // the outcome of the last attempt to open the PMU
  bool open_ = false;                // the PMU measures
  Nanoseconds last_time_{};          // in the PMU's own time
  std::uint64_t generation_ = 0;
  bool stepped_back_ = false;                            // at the last read some count of active ticks stepped back
  bool awaits_ratio_ = false;                            // the PMU has taken over and has no whole window yet
  bool clients_ratio_ = false;                           // in this scrape: write the ratios by class from clients_
  std::optional<Absent> hidden_;                         // why some clients are hidden while clients_ measures
  std::optional<ClientEngineTime::PmuCount> pmu_start_;  // set when the PMU has just taken over
  XeSleepWatch sleep_;
  ClientEngineTime clients_;
};

}  // namespace

std::unique_ptr<Collector> EnginesCollector::create_xe(const CollectorContext& context) {
  return std::make_unique<XeEnginesCollector>(context);
}

CollectorEntry engines_collector() { return entry<EnginesCollector>(); }

}  // namespace igpu
