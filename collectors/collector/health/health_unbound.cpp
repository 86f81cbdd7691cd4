// SPDX-License-Identifier: Apache-2.0
#include "collector/health/health_unbound.h"

#include <algorithm>

namespace igpu {

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
