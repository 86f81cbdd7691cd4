// SPDX-License-Identifier: Apache-2.0
#include "collector/health/health_files.h"

#include <cerrno>

#include "kernel/faults/driver_state.h"
#include "kernel/faults/fault_files.h"
#include "kernel/sysfs/pci_files.h"

namespace igpu {
namespace {

constexpr Nanoseconds kRound = SlowSchedule::kEvery;
// HuC is loaded after the driver has bound the GPU: the first answer may come too early.
constexpr unsigned kFirmwareRounds = 2;

std::string text_of(const FirmwareVersion& version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor) + "." + std::to_string(version.patch);
}

bool can_survive(const Gpu& gpu) {
  return gpu.driver == Driver::xe && gpu.kind == GpuKind::discrete && !gpu.virtual_function;
}

// A wedged xe answers every call with it. That is a state, told by another metric.
template <class T>
Reading<T> unless_wedged(Reading<T> reading) {
  if (reading.is_failure() && reading.failure().code == std::error_code(ECANCELED, std::generic_category()))
    return Absent{Reason::kernel, ECANCELED};
  return reading;
}

}  // namespace

void HealthFiles::read_pcie_errors(const Gpu& gpu, Files& files) {
  files.errors.clear();
  files.error_files.clear();
  CounterMemory& memory = counters_[gpu.address];
  for (const PciePort& port : pcie_ports(gpu.pci_path)) {
    for (const AerFile& file : kAerFiles) {
      const auto counts = read_aer_counts(machine_.sys, port.path, file);
      files.error_files.push_back(counts.map([](const auto&) { return Unit{}; }));
      if (!counts) continue;
      for (const AerCount& count : *counts) {
        // A device that was removed and found again starts at 0.
        const std::uint64_t total =
            memory.counter(port.path + "/" + std::string(file.file) + " " + count.type).advance(count.count);
        const auto same = std::ranges::find_if(files.errors, [&](const ErrorCount& known) {
          return known.port == port.port && known.severity == file.severity && known.type == count.type;
        });
        if (same != files.errors.end()) {
          same->total += total;
        } else {
          files.errors.push_back({port.port, file.severity, count.type, total});
        }
      }
    }
  }
}

Reading<HealthFiles::RuntimePmSettings> HealthFiles::runtime_pm(const Gpu& gpu) const {
  const auto suspends = may_suspend(machine_.sys, gpu.pci_path);
  if (!suspends) return suspends.propagate<RuntimePmSettings>();
  const auto d3cold = d3cold_allowed(machine_.sys, gpu.pci_path);
  if (d3cold.is_failure()) return d3cold.failure();
  return RuntimePmSettings{*suspends ? "auto" : "on", !d3cold ? "" : *d3cold ? "1" : "0"};
}

void HealthFiles::ask_firmware(const Gpu& gpu, Files& files) const {
  if (files.firmware_rounds >= kFirmwareRounds) return;
  if (gpu.render_node.empty()) {
    files.firmware_outcome = Absent{Reason::kernel, ENOENT};
    return;
  }
  const auto node = machine_.drm.open(gpu.render_node);
  if (!node) {
    // The kernel has the node, but this container was not given it.
    const bool hidden = node.is_absent() && node.absent().os_error == ENOENT;
    files.firmware_outcome = hidden ? Reading<Unit>(Absent{Reason::permission, ENOENT}) : node.propagate<Unit>();
    return;
  }
  std::vector<Firmware> found;
  std::optional<Failure> failed;
  Absent why{Reason::kernel};
  const auto answered = [&](const auto& reading) {
    if (reading.is_failure()) failed = reading.failure();
    if (reading.is_absent()) why = reading.absent();
    return static_cast<bool>(reading);
  };
  if (gpu.driver == Driver::xe) {
    const auto huc = unless_wedged(xe_firmware_version(**node, Microcontroller::huc));
    const auto guc = unless_wedged(xe_firmware_version(**node, Microcontroller::guc));
    if (answered(huc)) found.push_back({"huc", text_of(*huc), {}});
    if (answered(guc)) found.push_back({"guc", {}, text_of(*guc)});
  } else if (const auto huc = i915_huc_authenticated(**node); answered(huc) && *huc) {
    found.push_back({"huc", {}, {}});
  }
  if (failed) {
    files.firmware_outcome = *std::move(failed);
    return;
  }
  ++files.firmware_rounds;
  files.firmware = std::move(found);
  const bool no_such_part = gpu.driver == Driver::i915 && (why.os_error == ENODEV || why.os_error == EINVAL);
  if (!files.firmware.empty()) {
    files.firmware_outcome = Unit{};
  } else {
    files.firmware_outcome = no_such_part ? Absent{Reason::hardware, why.os_error} : why;
  }
}

void HealthFiles::read(const Gpu& gpu, Files& files) {
  read_pcie_errors(gpu, files);
  files.runtime_pm = runtime_pm(gpu);
  if (can_survive(gpu)) files.survivability = in_survivability_mode(machine_.sys, gpu.pci_path);
  // What failed is read again at the next scrape.
  const auto failed = [](const Reading<Unit>& file) { return file.is_failure(); };
  if (files.runtime_pm.is_failure() || files.survivability.is_failure() ||
      std::ranges::any_of(files.error_files, failed))
    files.read_at.reset();
}

void HealthFiles::write(const Gpu& gpu, const Files& files, SampleSink& out) {
  FeatureReport errors(out, kPcieErrorsFeature,
                       gpu.kind == GpuKind::integrated ? Absent{Reason::hardware} : Absent{Reason::kernel, ENOENT},
                       gpu.virtual_function, gpu.address);
  // An integrated GPU is no port of a link: most have no AER capability, wherever the kernel handles errors.
  const auto is_usual = [&](const Reading<Unit>& file) {
    return gpu.kind == GpuKind::integrated && file.is_absent() && file.absent().reason == Reason::kernel;
  };
  for (const Reading<Unit>& file : files.error_files)
    if (!is_usual(file)) (void)errors.note(file);
  for (const ErrorCount& error : files.errors)
    out.add(kPcieErrors, {gpu.address, error.port, error.severity, error.type}, count_of(error.total));

  FeatureReport survivability(out, kSurvivabilityFeature, {Reason::hardware}, false, gpu.address);
  if (survivability.note(files.survivability)) out.add(kSurvivability, {gpu.address}, flag(*files.survivability));

  const auto& settings = files.runtime_pm;
  if (settings) out.add(kRuntimePm, {gpu.address, settings->control, settings->d3cold_allowed}, flag(true));
  if (settings.is_failure()) out.failed(settings.failure());

  FeatureReport firmware(out, kFirmwareFeature, {Reason::suspended}, gpu.virtual_function, gpu.address);
  (void)firmware.note(files.firmware_outcome);
  for (const Firmware& part : files.firmware)
    out.add(kFirmware, {gpu.address, part.uc, part.version, part.interface}, flag(true));
}

void HealthFiles::collect(const HealthScrape& scrape, SampleSink& out) {
  std::erase_if(files_, [&](const auto& known) {
    return std::ranges::none_of(
        scrape.gpus, [&](const Gpu& gpu) { return gpu.address == known.first && gpu.binding == known.second.binding; });
  });
  for (const Gpu& gpu : scrape.gpus) {
    Files& files = files_[gpu.address];
    files.binding = gpu.binding;
    const bool due = !files.read_at || scrape.just_faulted(gpu.address) || scrape.now - *files.read_at >= kRound;
    if (due) {
      files.read_at = scrape.now;
      read(gpu, files);
    }
    const Reading<Unit>& firmware = files.firmware_outcome;
    const bool not_asked = firmware.is_absent() && firmware.absent().reason == Reason::suspended;
    if (scrape.is_awake(gpu.address)) {
      if (due || not_asked || firmware.is_failure()) ask_firmware(gpu, files);
    } else if (firmware.is_failure()) {
      files.firmware_outcome = Absent{Reason::suspended};
    }
    write(gpu, files, out);
  }
}

void HealthUnbound::take(const KernelLogRecord& record) {
  const auto line = parse_probe_line(record);
  if (!line) return;
  ProbeLine& last = probes_[line->device];
  if (line->took || last.driver != line->driver) last = line->took ? ProbeLine() : *line;
  if (!line->error.empty()) last.error = line->error;
  // The first file is the one that the driver wants; it tries others after it.
  if (last.firmware.empty()) last.firmware = line->firmware;
}

void HealthUnbound::search() {
  const auto before = std::exchange(gpus_, find_unbound_gpus(machine_)).value_or({});
  if (!gpus_) return;
  if (!chosen_.empty())
    std::erase_if(*gpus_, [&](const auto& gpu) { return std::ranges::find(chosen_, gpu.address) == chosen_.end(); });
  for (const UnboundGpu& gpu : *gpus_) {
    if (log_ == nullptr || std::ranges::find(before, gpu) != before.end()) continue;
    const std::string_view reason = reason_of(gpu);
    const bool is_seen_to = reason == "guest" || reason == "no_node";
    log_->write(is_seen_to ? LogLevel::info : LogLevel::warn, "GPU without i915 or xe is not monitored",
                {{"device", gpu.address},
                 {"name", gpu.name},
                 {"reason", reason},
                 {"driver", gpu.driver},
                 {"hint", reason == "guest"     ? "none needed: a virtual machine has it"
                          : reason == "no_node" ? "none needed while its driver is taking it"
                                                : "`intel-gpu-exporter doctor` names the command that helps"}});
  }
}

std::string_view HealthUnbound::reason_of(const UnboundGpu& gpu) const {
  if (gpu.is_guests()) return "guest";
  if (!gpu.driver.empty()) return gpu.driver == "i915" || gpu.driver == "xe" ? "no_node" : "other_driver";
  const auto probe = probes_.find(gpu.address);
  return probe != probes_.end() && !probe->second.firmware.empty() ? "firmware" : "no_driver";
}

void HealthUnbound::collect(const HealthScrape& scrape, SampleSink& out) {
  std::vector<std::pair<std::string, std::uint64_t>> bound;
  for (const Gpu& gpu : scrape.gpus) bound.emplace_back(gpu.address, gpu.binding);
  const bool gpus_changed = std::exchange(bound_, bound) != bound;
  const auto is_as_found = [this](const UnboundGpu& gpu) { return is_still_unbound(machine_.sys, gpu); };
  if (std::exchange(is_due_, false) || gpus_changed || !gpus_ || !std::ranges::all_of(*gpus_, is_as_found)) search();
  if (!gpus_) return out.failed(gpus_.failure());
  for (const UnboundGpu& gpu : *gpus_) {
    out.add(kUnbound, {gpu.address, gpu.device_id, gpu.name, reason_of(gpu)}, flag(true));
    if (!gpu.driver.empty()) {
      out.add(kDriver, {gpu.address, gpu.driver}, flag(true));
      continue;
    }
    const auto probe = probes_.find(gpu.address);
    if (probe == probes_.end() || probe->second.driver.empty()) continue;
    out.add(kProbeFailure, {gpu.address, probe->second.driver, probe->second.error, probe->second.firmware},
            flag(true));
  }
}

}  // namespace igpu
