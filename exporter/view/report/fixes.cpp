// SPDX-License-Identifier: Apache-2.0
#include "view/report/fixes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "igpu/monitor.h"
#include "igpu/words.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kMostNames = 4;

bool is_awake(const GpuModel& gpu) { return gpu.suspended && !*gpu.suspended; }

// "ffmpeg (1234), Xorg (900) and 3 more"; "" if nobody is visible.
std::string users_of(const GpuModel& gpu) {
  if (!gpu.processes || gpu.processes->empty()) return {};
  std::string text;
  std::size_t named = 0;
  for (const snapshot::Process& process : *gpu.processes) {
    if (named == kMostNames) break;
    text += (named++ == 0 ? "" : ", ") + process.comm + " (" + std::to_string(process.pid) + ")";
  }
  if (gpu.processes->size() > named) text += " and " + std::to_string(gpu.processes->size() - named) + " more";
  return text;
}

void about_sleep(std::vector<Advice>& all, const GpuModel& gpu) {
  const std::string& address = gpu.gpu.address;
  if (const std::string_view why = snapshot::out_of_service(gpu); !why.empty()) {
    all.push_back({address, true,
                   "it is " + std::string(why) + ": nothing can use it; see IntelGpuWedged in docs/runbook.md", ""});
    return;
  }
  if (gpu.may_sleep && !*gpu.may_sleep) {
    all.push_back({address, true, "it may never sleep: runtime power management is off (power/control is on)",
                   "echo auto | sudo tee /sys/bus/pci/devices/" + address + "/power/control"});
    return;
  }
  if (!is_awake(gpu) || !gpu.may_sleep) return;
  const std::string users = users_of(gpu);
  if (!users.empty()) all.push_back({address, false, "it is awake, and these programs hold it: " + users, "", true});
}

std::string gigatransfers(TransfersPerSecond speed) {
  const long tenths = std::lround(speed.value / 1e8);
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) + " GT/s";
}

std::string lanes(Lanes width) { return std::to_string(std::lround(width.value)); }

// "default [performance] powersave" -> whether the link never saves power.
bool never_saves_power(const std::optional<std::string>& policy) {
  return policy && policy->find("[performance]") != std::string::npos;
}

void about_link(std::vector<Advice>& all, const GpuModel& gpu, const Gpu& device, const ReadSysfs& read) {
  if (!is_awake(gpu) || !gpu.pcie) return;
  const std::string look = "sudo lspci -vv -s " + gpu.gpu.address + " | grep -e LnkCap -e LnkSta; lspci -tv";
  const snapshot::PcieLink& link = *gpu.pcie;
  if (link.width && link.max_width && gpu.slot_width) {
    const Lanes possible{std::min(link.max_width->value, gpu.slot_width->value)};
    if (link.width->value < possible.value)
      all.push_back({gpu.gpu.address, true,
                     "its link has " + lanes(*link.width) + " lanes, card and slot have " + lanes(possible) +
                         ": saving power never does that; seat the card again, check riser and contacts",
                     look});
  }
  if (!link.speed || !link.max_speed || !gpu.slot_speed) return;
  const TransfersPerSecond possible{std::min(link.max_speed->value, gpu.slot_speed->value)};
  if (link.speed->value >= possible.value) return;
  const std::string slower =
      "its link runs at " + gigatransfers(*link.speed) + ", card and slot can do " + gigatransfers(possible) + ": ";
  const auto downgraded = read(device.pci_path + "/auto_link_downgrade_status");
  if (downgraded && downgraded->starts_with('1')) {
    all.push_back({gpu.gpu.address, false, slower + "the card chose that to save power (auto_link_downgrade)", ""});
  } else if (!downgraded && !never_saves_power(read("module/pcie_aspm/parameters/policy"))) {
    all.push_back({gpu.gpu.address, false,
                   slower + "it may be saving power (ASPM); only if it is slow under load, too, something is wrong",
                   look});
  } else {
    all.push_back(
        {gpu.gpu.address, true,
         slower + "not to save power; check riser and slot, and the slot's generation in the board's settings", look});
  }
}

void about_clock(std::vector<Advice>& all, const GpuModel& gpu) {
  const auto found = snapshot::busy_but_slow(gpu);
  if (!found) return;
  const auto mhz = [](Hertz clock) { return std::to_string(std::lround(clock.value / 1e6)) + " MHz"; };
  all.push_back({gpu.gpu.address, true,
                 "it is busy but slow: " + std::string(to_string(found->engine_class)) + " is " +
                     std::to_string(std::lround(found->busy.value * 100)) + " % busy at " + mhz(found->actual) +
                     " of " + mhz(found->allowed) +
                     ", and the driver gives no reason for throttling; see IntelGpuBusyButSlow in docs/runbook.md",
                 ""});
}

}  // namespace

bool is_optional_fix(const Finding& finding) {
  return !finding.available && finding.feature != nullptr && finding.feature->optional && !finding.hint.empty();
}

std::string title_of(std::span<const GrantStep> steps, const std::string& place, std::size_t granted,
                     std::size_t missing, std::size_t optional) {
  if (missing == 0) return {};
  const auto counted = [](std::size_t count, const char* one, const char* more) {
    return std::to_string(count) + (count == 1 ? one : more);
  };
  if (granted == 0)
    return counted(missing, " value is", " values are") + " missing, and no command here grants " +
           (missing == 1 ? "it." : "them.");
  const std::string values = (granted == missing ? "" : std::to_string(granted) + " of ") +
                             counted(missing, " value", " values") +
                             (optional == 0 ? "" : " and " + counted(optional, " optional one", " optional ones"));
  std::size_t commands = 0;
  for (const GrantStep& step : steps) {
    if (step.lines.empty() && commands == 0) return "This grants " + values + " here (" + place + "):";
    commands += step.lines.size();
  }
  return counted(commands, " command grants ", " commands grant ") + values + ":";
}

std::vector<Fix> fixes_for(std::span<const Finding> findings, bool optional) {
  std::vector<Fix> fixes;
  for (const Finding& finding : findings) {
    if (!is_missing(finding) && !is_optional_fix(finding)) continue;
    // Without a hint, findings are grouped by cause.
    const auto same = [&](const Fix& fix) {
      return fix.hint == finding.hint && (!fix.hint.empty() || fix.causes.front() == finding.cause);
    };
    auto fix = std::ranges::find_if(fixes, same);
    if (fix == fixes.end()) fix = fixes.insert(fixes.end(), {finding.hint, {finding.cause}, {}, {}});
    if (std::ranges::find(fix->causes, finding.cause) == fix->causes.end()) {
      fix->causes.push_back(finding.cause);
    }
    (is_missing(finding) ? fix->findings : fix->optional).push_back(&finding);
  }
  std::erase_if(fixes, [&](const Fix& fix) { return fix.findings.empty() != optional; });
  return fixes;
}

std::string names_of(const Fix& fix) {
  std::vector<std::string_view> names;
  for (const Finding* finding : fix.findings)
    if (!contains(names, finding->feature->name)) names.push_back(finding->feature->name);
  return joined(names);
}

std::vector<std::string> gains_of(const Fix& fix) {
  std::vector<std::pair<const FeatureDescriptor*, std::string>> features;
  std::vector<const Finding*> findings = fix.findings;
  findings.insert(findings.end(), fix.optional.begin(), fix.optional.end());
  for (const Finding* finding : findings) {
    const auto same = [&](const auto& known) { return known.first == finding->feature; };
    auto known = std::ranges::find_if(features, same);
    if (known == features.end()) known = features.insert(features.end(), {finding->feature, ""});
    if (finding->device.empty()) continue;
    known->second += (known->second.empty() ? " of " : ", ") + finding->device;
  }
  std::vector<std::string> lines;
  lines.reserve(features.size());
  for (const auto& [feature, devices] : features)
    lines.push_back(std::string(feature->name) + (feature->optional && !fix.findings.empty() ? " (optional)" : "") +
                    devices + ": " + std::string(feature->meaning));
  return lines;
}

// What the collectors that are always on cannot read is the least useful to know.
std::vector<Finding> most_useful_first(std::span<const Finding> findings) {
  const std::vector<CollectorDescription> collectors = describe_collectors();
  const auto is_always_on = [&](const Finding& finding) {
    return std::ranges::any_of(collectors, [&](const CollectorDescription& collector) {
      return collector.always_on && collector.name == finding.collector;
    });
  };
  std::vector<Finding> ordered(findings.begin(), findings.end());
  std::stable_partition(ordered.begin(), ordered.end(), [&](const Finding& finding) { return !is_always_on(finding); });
  return ordered;
}

std::vector<Advice> advice_for(std::span<const GpuModel> models, std::span<const Gpu> gpus, const ReadSysfs& read) {
  std::vector<Advice> all;
  for (const GpuModel& model : models) {
    const auto device = std::ranges::find_if(gpus, [&](const Gpu& gpu) { return gpu.address == model.gpu.address; });
    if (device == gpus.end()) continue;
    about_sleep(all, model);
    about_link(all, model, *device, read);
    about_clock(all, model);
  }
  return all;
}

}  // namespace igpu::exporter
