// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "igpu/page.h"
#include "igpu/snapshot.h"
#include "igpu/values.h"

// The GPUs of a machine, made from a page of samples: of this process, or of another exporter. A GpuModel is the
// Snapshot that OpenGpu::read() returns, plus what only a page has. Every view of a GPU reads this model and names no
// metric; model/fields.cpp has the one table of fields.
namespace igpu {

struct GpuModel;
namespace model {
struct Field;
}

namespace snapshot {

// What a workload uses of one GPU.
struct WorkloadUse {
  std::string workload;
  std::array<Reading<Ratio>, kEngineClasses> busy{Absent{}, Absent{}, Absent{}, Absent{}, Absent{}};
  std::vector<ProcessMemory> memory;
  Reading<Count> clients = Absent{};
};

// The last fault of a kind: job_timeout, hang, full, wedged, ...
struct Fault {
  std::string kind;
  Seconds at;  // since 1970, by the clock of the machine with the GPU
};

// Hangs of one kind, and of one engine class where it is known. Source: the kernel log, BPF programs.
struct Hangs {
  std::string kind, engine_class;
  Count count;
};

// A process that caused hangs.
struct HangCause {
  std::uint32_t pid = 0;
  std::string comm;
  Count hangs;
};

// Jobs that the video engines have done for a workload, or for a process (pid and comm). Source: tracepoints.
struct VideoJobs {
  std::string workload;
  std::uint32_t pid = 0;
  std::string comm;
  Count done;
};

// Source: hwmon.
struct TemperatureLimit {
  std::string sensor, limit;  // limit: crit (the hardware throttles or warns), emergency (it shuts down)
  Celsius value;
};

// A workload as a whole.
struct Workload {
  std::string name, kind, container_id, pod_uid, systemd_unit;  // kind: pod, container, systemd_unit, comm, rule, ...
  Reading<Count> processes = Absent{};
  Reading<Seconds> cpu_time = Absent{};  // user and system
  Reading<Bytes> resident_memory = Absent{};
};

// An NPU: a device beside the GPUs. Values that the page lacks are Absent{}.
struct Npu {
  std::string address;  // PCI
  std::string accel, device_id, name;
  Reading<bool> suspended = Absent{};
  Reading<Ratio> busy = Absent{};  // share of the window with at least one job submitted
  Reading<Seconds> busy_time = Absent{};
  Reading<Bytes> resident_memory = Absent{};
  Reading<Hertz> frequency = Absent{}, max_frequency = Absent{};  // now, 0 while it idles; of the hardware
  Reading<Watts> power = Absent{};                                // mean over the window
  Reading<Celsius> temperature = Absent{};
  Reading<Count> recoveries = Absent{};
};

// An Intel GPU on the PCI bus that neither i915 nor xe drives.
struct Unbound {
  std::string address, device_id, name, reason;  // PCI address; reason: as intel_gpu_unbound has it
  // The driver that has it. If none has: the last that tried, by the kernel log; "" for what it does not tell.
  std::string driver, error, firmware;
};

// An SR-IOV virtual function of the GPU, as its host sees it. Values that the page lacks are Absent{}.
struct VirtualFunction {
  unsigned number = 0;                // from 1
  std::string address;                // PCI
  std::string driver;                 // "none": it is not bound
  std::string workload;               // the virtual machine that holds it; "" if none is known
  std::vector<EngineClassLoad> busy;  // shares of the engines' time; only classes that the GPU has
  Reading<Seconds> exec_quantum = Absent{};
  Reading<Bytes> vram_quota = Absent{};
};

// Sum over the regions of the memory that is in use now; absent if no region has a value.
Reading<Bytes> resident(const std::vector<ProcessMemory>& memory);

// The engines with a value for this window. Where the PMU covers a class, the class's row from fdinfo is left out.
std::vector<const Engine*> measured_engines(const GpuModel& gpu);

// Domains of power, the best first: what a card draws as a whole, what the GPU of a processor draws, and where that is
// not measured, the processor.
inline constexpr std::array<std::string_view, 3> kDrawDomains{"card", "gpu", "package"};

// What the GPU draws: the first of these domains that is measured, also while it has no mean, so that no view jumps to
// another domain for one window. Null: none is.
const Power* draw_of(const Snapshot& gpu);
// The sustained limit of a domain, otherwise a limit for less time (cards of 2026 have only these). Null: there is
// none.
const PowerLimit* power_limit_of(const Snapshot& gpu, std::string_view domain);
// The same for what the GPU draws.
const PowerLimit* power_limit_of(const Snapshot& gpu);

// The clock of the fastest GT: now, or where no GT has a current one, the mean over the window.
Reading<Hertz> clock_of(const GpuModel& gpu);
// The sensor of the package, otherwise the first one. Null: there is none.
const Temperature* temperature_of(const Snapshot& gpu);

// A card's own memory; of an integrated GPU, the machine's. Absent `used`: a region lacks it.
struct MemoryUse {
  bool own = false;
  Reading<Bytes> size = Absent{}, used = Absent{};
};
MemoryUse memory_of(const Snapshot& gpu);
// What is in use of it; of an integrated GPU, by the visible processes.
Reading<Bytes> memory_in_use(const GpuModel& gpu);

// Where a process runs: its container (12 digits), systemd unit or cgroup; "" if none is known.
std::string place_of(const Process& process);

// Why nothing can run on the GPU until an operator intervenes, in words; empty unless that is known.
std::string_view out_of_service(const GpuModel& gpu);

// What is or just was wrong with the GPU: "wedged", for a minute "job timeout, 12 s ago", "GPU hang recorded"; empty if
// nothing. now: since 1970.
std::string trouble_of(const GpuModel& gpu, Seconds now);

// A GPU in a word, for whoever glances at many: the worst that is true.
struct State {
  enum class Word { ok, busy, limited, no_permission, asleep, hung } word = Word::ok;
  std::string why;  // limited: by what; hung: the kind of fault; in words
  Seconds since;    // hung: when, since 1970; 0 if it is not known
};
State state_of(const GpuModel& gpu, Seconds now);
std::string_view to_string(State::Word word);  // "NO PERMISSION"

// What video engines do for a workload, or for a process if no page of the machine knows workloads: over all GPUs.
struct Channel {
  std::string name;                // the workload, or "ffmpeg (4711)"
  std::vector<std::string> cards;  // "card1"; the address of a GPU without one
  Count jobs;
};

// The GPU is over 90 % busy below half of the clock that it may use, and no throttle reason says why.
struct BusyButSlow {
  EngineClass engine_class;
  Ratio busy;
  Hertz actual, allowed;
};
std::optional<BusyButSlow> busy_but_slow(const GpuModel& gpu);

// Why the GT, or any GT of the GPU, is throttled, in words; empty unless it is.
std::vector<std::string_view> throttle_reasons(const Throttling& row);
std::vector<std::string_view> throttle_reasons(const Snapshot& gpu);

}  // namespace snapshot

struct GpuModel : Snapshot {
  bool identified = false;  // the page has the identity; otherwise only the address of `gpu` is known
  Reading<Count> process_count = Absent{}, processes_dropped = Absent{};
  Reading<bool> wedged = Absent{};         // the driver has given it up
  Reading<bool> survivability = Absent{};  // xe holds the card so that its firmware can be flashed
  Reading<bool> may_sleep = Absent{};      // runtime power management is on
  std::vector<snapshot::Fault> faults;
  std::vector<snapshot::Hangs> hangs;
  std::vector<snapshot::HangCause> hang_causes;
  std::vector<snapshot::VideoJobs> video_jobs;
  Reading<Count> resets = Absent{};                     // of the whole GPU
  Reading<Count> uncorrectable_pcie_errors = Absent{};  // of the GPU and the ports above it
  std::vector<snapshot::TemperatureLimit> temperature_limits;
  Reading<TransfersPerSecond> slot_speed = Absent{};  // highest, of the port that the card is plugged into
  Reading<Lanes> slot_width = Absent{};
  std::vector<snapshot::WorkloadUse> workloads;
  Reading<Count> functions_enabled = Absent{}, functions_total = Absent{};  // SR-IOV
  std::vector<snapshot::VirtualFunction> functions;                         // by number
  std::vector<std::string> missing;  // features that a permission, a kernel or a module would provide
};

struct HostModel {
  std::vector<GpuModel> gpus;                 // in the order of the page
  std::vector<snapshot::Workload> workloads;  // by name
  std::vector<snapshot::Npu> npus;            // by address
  std::vector<snapshot::Unbound> unbound;     // by address
  std::vector<FeatureState> features;         // of the whole machine
  std::vector<std::string> missing;           // as GpuModel::missing
  std::vector<std::string> failed_collectors;
  std::size_t rows_left_out = 0;  // beyond what a page of an exporter holds

  std::vector<snapshot::Channel> channels() const;  // by name
  // The workload of a process, by its container, pod, unit or name; "" if none can be told.
  std::string_view workload_of(const snapshot::Process& process) const;
  // Null: there is none.
  const GpuModel* gpu(std::string_view address) const;
  const snapshot::Workload* workload(std::string_view name) const;
};

struct LabelPair {
  std::string_view name, value;
};

// What a view makes of text that it cannot show as it is. Null: all text is kept.
using CleanText = std::string (*)(std::string_view);

// Makes the model of a page, whose samples may come in any order. With `clean`, the page need not be trusted: text is
// cleaned, ratios are limited to 0..1, and what is not finite is left out. The number of rows is always limited.
class ModelReader {
 public:
  explicit ModelReader(CleanText clean = nullptr);
  ~ModelReader();
  ModelReader(const ModelReader&) = delete;
  ModelReader& operator=(const ModelReader&) = delete;

  void add(std::string_view metric, std::span<const LabelPair> labels, double value);
  void add(const PageView& page);
  HostModel finish();

 private:
  class Fill;
  std::unique_ptr<Fill> fill_;
};

HostModel model_of(const PageView& page, CleanText clean = nullptr);

// A value that a GPU has once: "power.mean" is what it draws, "engine.busy" its busiest class. With a key it is that of
// some rows: "engine.video.busy", "power.package.mean", "frequency.1.actual". The key "media" stands for the engines
// that code or change video, and for the GT that has them.
struct GpuField {
  std::string name;       // "engine.video.busy"
  std::string title;      // "Video"; "": a view shows it only if it is asked for
  std::string_view path;  // "engine.busy"
  std::string key;        // "video"
  std::string_view unit;  // a base unit; "": text, or a plain number
  const model::Field* field;
};

// Those that a program may list; fields of rows with other keys are found as well.
std::span<const GpuField> gpu_fields();
// The last part may be missing: it is then the first of its rows, so that "power" is "power.mean". Nothing: there is
// no such field.
std::optional<GpuField> gpu_field(std::string_view name);
using Scalar = std::variant<double, std::string>;
Reading<Scalar> value_of(const GpuModel& gpu, const GpuField& field);
// Of each row that the GPU has; of what it has once, one without labels. Nothing of a text.
Reading<std::vector<FieldValue>> values_of(const GpuModel& gpu, const GpuField& field);

// How people read a unit, in every view. Values are multiplied by the factor.
struct EverydayUnit {
  std::string_view base;   // "hertz"
  std::string_view plain;  // "MHz", in ASCII
  std::string_view shown;  // the same in tables: "°C"
  double factor;
  int decimals, in_tables;  // digits of a single value; in tables
};
const EverydayUnit& everyday(std::string_view base_unit);

// The metric that a field is made of: "engine.busy" is intel_gpu_engine_busy_ratio. Empty if there is no such field.
std::string_view metric_of(std::string_view field);
// The feature whose finding says why a machine lacks the field: "engine_busy". Empty if no feature covers it.
std::string_view feature_of(std::string_view field);

}  // namespace igpu
