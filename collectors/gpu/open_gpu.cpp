// SPDX-License-Identifier: Apache-2.0
#include "gpu/open_gpu.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/counter_window.h"
#include "collector/collector.h"
#include "collector/shared/shared_options.h"
#include "igpu/monitor.h"
#include "igpu/snapshot.h"
#include "kernel/device/discovery.h"
#include "machine/this_process.h"
#include "model/fields.h"
#include "model/rules.h"
#include "run/findings.h"
#include "run/registry.h"

namespace igpu {
namespace {

// Turns the samples of a scrape into a Snapshot of one GPU; model/fields.cpp says which metric is which field.
class SnapshotBuilder {
 public:
  explicit SnapshotBuilder(Nanoseconds min_window) : min_window_(min_window) {}

  // gpu, time and monotonic of the snapshot are the caller's to fill.
  Snapshot build(const std::shared_ptr<const ScrapeResult>& scrape, const Gpu& gpu, Nanoseconds now) {
    model::HostRows host;
    model::GpuRows rows;
    // A snapshot usually has as many rows as the one before it.
    const auto each_list = [&](auto use) {
      std::size_t i = 0;
      std::apply([&](auto&... lists) { (use(lists.rows, rows_[i++]), ...); }, rows.lists);
    };
    each_list([](auto& list, std::size_t before) { list.reserve(before); });
    sort_samples(*scrape, gpu, {host, &rows});
    each_list([](const auto& list, std::size_t& before) { before = list.size(); });
    keep_features(scrape, gpu);
    Snapshot snapshot = model::finish(std::move(rows), {found_, scrape->failures(), gpu.address});
    snapshot.features = features_;
    if (snapshot.memory_bandwidth) add_bandwidth_rates(*snapshot.memory_bandwidth, now);
    return snapshot;
  }

 private:
  const model::Binding& bind(const MetricDescriptor& metric) {
    const auto is_it = [&metric](const model::Binding& known) { return known.metric() == &metric; };
    // Samples come in about the same order each time; those of engines alternate between some metrics.
    const std::size_t last = last_binding_;
    if (last < following_.size() && is_it(bindings_[following_[last]]))
      return bindings_[last_binding_ = following_[last]];
    const auto known = std::ranges::find_if(bindings_, is_it);
    last_binding_ = static_cast<std::size_t>(known - bindings_.begin());
    if (known == bindings_.end()) {
      bindings_.emplace_back(metric);
      following_.push_back(last_binding_);
    }
    following_[last] = last_binding_;
    return bindings_[last_binding_];
  }

  void sort_samples(const ScrapeResult& scrape, const Gpu& gpu, const model::Target& to) {
    const MetricDescriptor* last = nullptr;
    const model::Binding* binding = nullptr;
    for (const SampleList* list : scrape.lists()) {
      for (const SampleList::Sample& sample : list->samples()) {
        if (sample.metric != last) {
          last = sample.metric;
          binding = &bind(*last);  // valid until the next one
        }
        if (binding->fields().empty() || binding->device(*list, sample) != gpu.address) continue;
        model::store(binding->fields(), to, binding->labels(*list, sample), sample.value);
      }
    }
  }

  void keep_features(const std::shared_ptr<const ScrapeResult>& scrape, const Gpu& gpu) {
    if (features_ && scrape->findings().data() == findings_) return;
    auto features = std::make_shared<std::vector<FeatureState>>();
    found_.clear();
    for (const Finding& finding : scrape->findings()) {
      if (!finding.device.empty() && finding.device != gpu.address) continue;
      found_.push_back({finding.feature->name, finding.available, finding.absent});
      const auto ours = snapshot_collectors();
      if (!is_always_on(finding.collector) && std::ranges::find(ours, finding.collector) == ours.end()) continue;
      FeatureState& state = features->emplace_back();
      state = {std::string(finding.feature->name), finding.available, finding.absent, finding.cause, finding.hint};
      if (finding.available || finding.absent.reason != Reason::disabled) continue;
      state.cause = "this program leaves it out";  // there are no flags here
      state.hint.clear();
    }
    features_ = std::move(features);
    features_of_ = scrape;
    findings_ = scrape->findings().data();
  }

  void add_bandwidth_rates(std::vector<snapshot::Bandwidth>& rows, Nanoseconds now) {
    for (snapshot::Bandwidth& row : rows) {
      auto& window = bandwidth_.try_emplace(row.direction, min_window_).first->second;
      const auto delta = window.advance(now, {static_cast<std::uint64_t>(row.total.value)});
      if (delta) row.rate = BytesPerSecond{static_cast<double>(delta->counts[0]) / to_seconds(delta->elapsed).value};
    }
  }

  Nanoseconds min_window_;
  // Of every metric so far, in order of first appearance.
  std::vector<model::Binding> bindings_;
  std::vector<std::size_t> following_;  // by binding: which one was wanted after it the last time
  std::size_t last_binding_ = 0;
  std::array<std::size_t, std::tuple_size_v<decltype(model::GpuRows::lists)>> rows_{};  // of the last snapshot
  std::unordered_map<std::string, CounterWindow<1>> bandwidth_;                         // by direction
  std::shared_ptr<const ScrapeResult> features_of_;  // keeps the list alive whose address is compared
  const Finding* findings_ = nullptr;
  std::shared_ptr<const std::vector<FeatureState>> features_;
  std::vector<model::Found> found_;  // of the same findings; short, as every snapshot searches it
};

using SteadyClock = std::chrono::steady_clock;

class NoLog final : public Log {
 public:
  void write(LogLevel, std::string_view, std::initializer_list<LogField>) override {}
};

MonitorOptions monitor_options(const GpuOptions& options) {
  MonitorOptions monitor;
  monitor.disable_default_collectors = true;
  for (const std::string_view name : snapshot_collectors()) monitor.collectors[std::string(name)] = true;
  monitor.sysfs_root = options.sysfs_root;
  monitor.procfs_root = options.procfs_root;
  monitor.devfs_root = options.devfs_root;
  monitor.simulate = options.simulate;
  monitor.min_window = std::max(options.min_window, Nanoseconds::zero());
  // A program that embeds the library may hold CAP_BPF for purposes of its own.
  monitor.collector_options[std::string(kFinder.flag())] = {"walk"};
  for (const std::string& name : options.without_collectors) monitor.collectors[name] = false;
  if (!options.processes) monitor.collectors[std::string(model::field_at("gpu.processes")->why.collector)] = false;
  return monitor;
}

// By the member of GpuOptions: a program has no flags.
InvalidOption invalid(const OptionError& error) {
  constexpr std::pair<std::string_view, std::string_view> kMembers[] = {
      {"path.sysfs", "sysfs_root"}, {"path.procfs", "procfs_root"}, {"path.devfs", "devfs_root"}};
  std::string_view name = error.flag();
  for (const auto& [flag, member] : kMembers)
    if (name == flag) name = member;
  if (constexpr std::string_view kLeftOut = "no-collector."; name.starts_with(kLeftOut))
    return {"without_collectors: " + std::string(name.substr(kLeftOut.size())) + ": " + error.reason(), ""};
  return {std::string(name) + ": " + error.reason(), ""};
}

std::shared_ptr<MachineParts> machine_of(const GpuOptions& options) {
  if (options.min_window > std::chrono::hours(24)) throw InvalidOption("min_window is a day or less", "");
  try {
    return make_machine_parts(monitor_options(options), nullptr);
  } catch (const OptionError& error) {
    throw invalid(error);
  }
}

// "card1" of "/dev/dri/card1"; every part of a path below /sys may be a name, the last one first.
bool names(std::string_view text, const Gpu& gpu, std::string_view& matched) {
  while (!text.empty()) {
    const std::size_t slash = text.rfind('/');
    std::string_view part = slash == std::string_view::npos ? text : text.substr(slash + 1);
    text = slash == std::string_view::npos ? std::string_view() : text.substr(0, slash);
    if (part.starts_with("pci-")) {  // /dev/dri/by-path/pci-0000:03:00.0-render
      part.remove_prefix(4);
      for (const std::string_view end : {"-render", "-card"})
        if (part.ends_with(end)) part.remove_suffix(end.size());
    }
    if (part.empty()) continue;
    if (part == gpu.address || part == gpu.card || part == gpu.render_node) {
      matched = part;
      return true;
    }
  }
  return false;
}

// A path of a card behind a bridge that is a GPU as well names the inner one.
const Gpu* find_gpu(const std::vector<Gpu>& gpus, std::string_view name) {
  const Gpu* found = nullptr;
  const char* deepest = nullptr;
  for (const Gpu& gpu : gpus) {
    std::string_view part;
    if (!names(name, gpu, part) || (deepest != nullptr && part.data() < deepest)) continue;
    deepest = part.data();
    found = &gpu;
  }
  return found;
}

Gpu choose(const Machine& machine, const std::vector<Gpu>& gpus, std::string_view name, const GpuOptions& options) {
  if (gpus.empty()) {
    const Advice advice = no_gpu_advice(machine, options.sysfs_root);
    throw NoGpu((machine.adapters ? "no Intel GPU: " : "no Intel GPU is bound to i915 or xe: ") + advice.cause,
                advice.hint);
  }
  if (name.empty()) return gpus.front();
  if (const Gpu* gpu = find_gpu(gpus, name)) return *gpu;
  throw NoSuchGpu("there is no Intel GPU \"" + std::string(name) + "\"", "available: " + list_of(gpus));
}

// What reads one GPU. Belongs to one process.
class Session {
 public:
  Session(std::shared_ptr<MachineParts> parts, std::string address, const GpuOptions& options)
      : parts_(std::move(parts)),
        log_(options.log ? *options.log : no_log_),
        address_(std::move(address)),
        min_window_(std::max(options.min_window, Nanoseconds::zero())),
        builder_(min_window_),
        registry_(parts_, parts_->machine(), registry_options(address_, min_window_), configured(options), log_) {
    begin_window();
  }

  Snapshot read() {
    // A counter may have wrapped since the last reading: that window is measured again.
    if (now() > due_) begin_window();
    if (std::exchange(window_is_new_, false)) std::this_thread::sleep_until(window_begins_ + min_window_);
    const auto time = std::chrono::system_clock::now();
    const Nanoseconds monotonic = now();
    const std::shared_ptr<const ScrapeResult> scrape = run();
    const std::shared_ptr<const std::vector<Gpu>> gpus = registry_.gpus();
    if (gpus->empty()) {
      due_ = now();  // if it comes back it begins with a new window
      throw GpuGone("the GPU " + address_ + " is gone: it was removed, or its driver unbound it",
                    "read again when it is back; dmesg has the driver's messages");
    }
    Snapshot snapshot = builder_.build(scrape, gpus->front(), monotonic);
    snapshot.time = time;
    snapshot.monotonic = monotonic;
    snapshot.gpu = gpus->front();
    return snapshot;
  }

 private:
  static RegistryOptions registry_options(std::string address, Nanoseconds min_window) {
    RegistryOptions options;
    options.gpus = {std::move(address)};
    options.min_window = min_window;
    options.collector_timeout = std::chrono::hours(1);  // nobody watches over a run on the calling thread
    options.on_calling_thread = true;
    options.own_metrics = false;
    return options;
  }
  static std::vector<ConfiguredCollector> configured(const GpuOptions& options) {
    try {
      return configure(all_collectors(), monitor_options(options));
    } catch (const OptionError& error) {
      throw invalid(error);
    }
  }

  // The first state of every counter.
  void begin_window() {
    const Nanoseconds time = now();
    const std::shared_ptr<const ScrapeResult> scrape = run();
    const std::shared_ptr<const std::vector<Gpu>> gpus = registry_.gpus();
    if (!gpus->empty()) (void)builder_.build(scrape, gpus->front(), time);
    window_begins_ = SteadyClock::now();
    window_is_new_ = true;
  }
  Nanoseconds now() const { return parts_->machine().clock.now(); }
  std::shared_ptr<const ScrapeResult> run() {
    std::shared_ptr<const ScrapeResult> scrape = registry_.run({});
    due_ = now() + registry_.accumulating_due_after();
    return scrape;
  }

  const std::shared_ptr<MachineParts> parts_;
  NoLog no_log_;
  Log& log_;
  const std::string address_;
  const Nanoseconds min_window_;
  SnapshotBuilder builder_;
  Registry registry_;
  Nanoseconds due_{};
  SteadyClock::time_point window_begins_;
  bool window_is_new_ = true;
};

}  // namespace

struct OpenGpu::State {
  State(MakeParts how_to_make_parts, const std::shared_ptr<MachineParts>& parts, Gpu chosen, GpuOptions chosen_options)
      : make_parts(std::move(how_to_make_parts)),
        options(std::move(chosen_options)),
        gpu(std::move(chosen)),
        session(std::make_unique<Session>(parts, gpu.address, options)) {}

  ~State() { (void)close_forked(); }

  // In the child of a fork, closes what the parent goes on using. If another thread of the parent was reading, what it
  // was changing cannot be destroyed: it stays until the child ends.
  bool close_forked() {
    const int self = current_process_id();
    if (self == process) return false;
    process = self;
    if (mutex->try_lock()) {
      mutex->unlock();
    } else {
      (void)session.release();
      (void)mutex.release();
      mutex = std::make_unique<std::mutex>();
    }
    session.reset();
    return true;
  }

  const MakeParts make_parts;
  const GpuOptions options;
  Gpu gpu;
  std::unique_ptr<std::mutex> mutex = std::make_unique<std::mutex>();
  int process = current_process_id();
  std::unique_ptr<Session> session;
};

std::span<const std::string_view> snapshot_collectors() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> found;
    for (const CollectorEntry& entry : all_collectors()) {
      const CollectorInfo& info = *entry.info;
      if (info.enabled_by_default && info.in_snapshots && !info.always_on) found.push_back(info.name);
    }
    return found;
  }();
  return names;
}

bool is_always_on(std::string_view collector) {
  const auto entries = all_collectors();
  return std::ranges::any_of(
      entries, [&](const CollectorEntry& entry) { return entry.info->always_on && entry.info->name == collector; });
}

OpenGpu open_gpu(const MakeParts& make_parts, std::string_view name, const GpuOptions& options) {
  const std::shared_ptr<MachineParts> parts = make_parts();
  Gpu gpu = choose(parts->machine(), Discovery(parts->machine(), {}).discover(), name, options);
  return OpenGpu(std::make_unique<OpenGpu::State>(make_parts, parts, std::move(gpu), options));
}

OpenGpu::OpenGpu(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
OpenGpu::OpenGpu(OpenGpu&&) noexcept = default;
OpenGpu& OpenGpu::operator=(OpenGpu&&) noexcept = default;
OpenGpu::~OpenGpu() = default;

Snapshot OpenGpu::read() {
  State& state = *state_;
  (void)state.close_forked();
  const std::lock_guard lock(*state.mutex);
  if (!state.session) state.session = std::make_unique<Session>(state.make_parts(), state.gpu.address, state.options);
  Snapshot snapshot = state.session->read();
  if (snapshot.gpu.binding != state.gpu.binding) state.gpu = snapshot.gpu;
  return snapshot;
}

Gpu OpenGpu::info() const {
  State& state = *state_;
  if (state.process != current_process_id()) return state.gpu;
  const std::lock_guard lock(*state.mutex);
  return state.gpu;
}

std::vector<Gpu> Gpu::list() { return list(GpuOptions{}); }
std::vector<Gpu> Gpu::list(const GpuOptions& options) {
  const std::shared_ptr<MachineParts> parts = machine_of(options);
  return Discovery(parts->machine(), {}).discover();
}

OpenGpu Gpu::detect() { return detect(GpuOptions{}); }
OpenGpu Gpu::detect(const GpuOptions& options) {
  return open_gpu([options] { return machine_of(options); }, "", options);
}

OpenGpu Gpu::open(std::string_view name) { return open(name, GpuOptions{}); }
OpenGpu Gpu::open(std::string_view name, const GpuOptions& options) {
  if (name.empty()) throw InvalidOption("Gpu::open() needs a name", "Gpu::detect() opens the first GPU");
  return open_gpu([options] { return machine_of(options); }, name, options);
}

}  // namespace igpu
