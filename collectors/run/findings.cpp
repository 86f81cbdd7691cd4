// SPDX-License-Identifier: Apache-2.0
#include "run/findings.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/scan.h"
#include "igpu/words.h"
#include "kernel/device/discovery.h"

namespace igpu {
namespace {

using Release = std::pair<unsigned, unsigned>;

// The highest of the releases "6.17" that a text names; 0.0: none.
Release highest_release(std::string_view text) {
  Release highest{};
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find_first_not_of("0123456789."));
    if (const std::size_t dot = word.find('.'); dot != std::string_view::npos) {
      const auto major = scan_integer<unsigned>(word.substr(0, dot));
      const auto minor = scan_integer<unsigned>(word.substr(dot + 1, word.find('.', dot + 1) - dot - 1));
      if (major && minor) highest = std::max(highest, {*major, *minor});
    }
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return highest;
}

// For a feature that is still missing where the kernel has the release that it needs.
constexpr std::string_view kNewEnough =
    "this kernel is new enough; its driver may come from elsewhere, or be built without it";

// A hint without a release that the kernel has reached. What it says about the kernel's configuration still helps.
std::string without_reached_release(const std::string& hint, std::string_view running) {
  constexpr std::string_view kOrNewer = " or newer", kAnyNewer = "a newer kernel";
  const std::size_t begin = hint.find("Linux "), end = hint.find(kOrNewer, begin);
  const bool names_release = begin != std::string::npos && end != std::string::npos;
  const Release release = highest_release(running.substr(0, running.find_first_not_of("0123456789.")));
  const Release needed = highest_release(hint);
  if ((!names_release && !hint.starts_with(kAnyNewer)) || needed == Release{} || release < needed) return hint;
  std::string before = names_release ? hint.substr(0, begin) : "";
  std::string_view rest = std::string_view(hint).substr(names_release ? end + kOrNewer.size() : kAnyNewer.size());
  if (!names_release) rest = rest.substr(0, rest.find(':'));
  if (rest.starts_with(',')) rest.remove_prefix(1);
  if (rest.starts_with(" with ")) return before + "a kernel" + std::string(rest);
  before.resize(before.find_last_not_of(" ,;") + 1);
  if (before.empty()) return std::string(kNewEnough);
  return rest.starts_with(';') ? before + std::string(rest) : before;
}

}  // namespace

bool KeptFindings::is_last(std::span<const Finding> noted) const {
  return std::equal(noted.begin(), noted.end(), last_->begin(), last_->end(), [](const Finding& a, const Finding& b) {
    return a.feature == b.feature && a.available == b.available && (a.available || a.absent == b.absent) &&
           a.collector == b.collector && a.device == b.device;
  });
}

void KeptFindings::read_release(Machine& machine) {
  std::array<char, 128> buffer;
  if (const auto release = machine.proc.read("sys/kernel/osrelease", buffer); release && !machine.adapters)
    running_ = *release;
}

void KeptFindings::explain(Finding& finding, Machine& machine, const Gpu* gpu, std::optional<PermissionFacts>& facts) {
  // Permissions are read only for hints that depend on them.
  if (!machine.adapters && finding.absent.reason == Reason::permission) {
    depends_on_rights_ = true;
    if (!facts) facts = permission_facts(machine);
  }
  Advice advice = machine.adapters ? advise_for_windows(*finding.feature, finding.absent, gpu)
                                   : advise(*finding.feature, finding.absent, facts.value_or(PermissionFacts{}), gpu);
  finding.cause = std::move(advice.cause);
  finding.hint = std::move(advice.hint);
  finding.rights = advice.rights;
  finding.command = std::move(advice.command);
  if (!running_.empty()) finding.hint = without_reached_release(finding.hint, running_);
  // Without an errno, a flag disabled the feature.
  if (finding.absent.reason == Reason::disabled && finding.absent.os_error == 0)
    finding.hint = "--collector." + std::string(finding.collector);
}

void ScrapeLog::device_found(const Gpu& gpu) {
  const std::lock_guard lock(mutex_);
  no_device_logged_ = false;
  log_.write(LogLevel::info, "GPU found",
             {{"device", gpu.address},
              {"driver", to_string(gpu.driver)},
              {"kind", to_string(gpu.kind)},
              {"name", gpu.name},
              {"card", gpu.card}});
}

void ScrapeLog::device_gone(const Gpu& gpu) {
  const std::lock_guard lock(mutex_);
  no_device_logged_ = true;  // if it was the last one, this message is enough
  log_.write(LogLevel::warn, "GPU disappeared; it is monitored again when it returns",
             {{"device", gpu.address},
              {"hint", std::string("none needed if it was unbound or unplugged on purpose; otherwise see ") +
                           (windows_ ? "the system's event log" : "dmesg")}});
}

void ScrapeLog::no_device() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(no_device_logged_, true)) return;
  log_.write(
      LogLevel::warn, windows_ ? "no Intel GPU found" : "no Intel GPU bound to i915 or xe",
      {{"hint", windows_ ? "check Get-PnpDevice -Class Display for a GPU of Intel whose status is OK"
                         : "check lspci -k for a GPU of vendor 8086 with kernel driver i915 or xe, and that /sys is "
                           "visible here"}});
}

bool ScrapeLog::is_first_miss(const std::string& name, bool is_here) {
  const std::lock_guard lock(mutex_);
  return known_names_.insert(name).second && !is_here;
}

void ScrapeLog::no_such_device(const std::string& name, const std::vector<Gpu>& present) {
  if (present.empty()) return no_device();
  const std::lock_guard lock(mutex_);
  log_.write(LogLevel::warn, "the GPU that --gpu names was not found; it is monitored when it appears",
             {{"gpu", name}, {"available", list_of(present)}, {"hint", "set --gpu to one of those, or leave it out"}});
}

void ScrapeLog::log_findings(const std::vector<Finding>& findings) {
  // One cause often takes away several features: name it once, with all of them.
  struct Group {
    const Finding* first;
    std::string features;
  };
  std::map<std::tuple<std::string, std::string, bool>, Group> fresh;  // by device, cause, and whether it is optional
  for (const Finding& finding : findings) {
    const auto key = std::pair(std::string(finding.feature->name), finding.device);
    const auto known = known_.find(key);
    const bool same = known != known_.end() && known->second.available == finding.available &&
                      (finding.available || known->second.absent == finding.absent);
    if (!same && !finding.available) {
      const bool optional = finding.feature->optional;
      Group& group = fresh.try_emplace({finding.device, finding.cause, optional}, Group{&finding, {}}).first->second;
      if (!group.features.empty()) group.features += ',';
      group.features += finding.feature->name;
    }
    if (!same && finding.available && known != known_.end() && known->second.absent.reason != Reason::suspended) {
      log_.write(LogLevel::info, "available again", {{"feature", finding.feature->name}, {"device", finding.device}});
    }
    known_[key] = {finding.available, finding.absent};
  }
  for (const auto& [key, group] : fresh) {
    const Finding& finding = *group.first;
    const bool permission = finding.absent.reason == Reason::permission && !finding.feature->optional;
    log_.write(permission ? LogLevel::warn : LogLevel::debug, permission ? "not permitted" : "not available",
               {{"feature", group.features},
                {"device", finding.device},
                {"reason", to_string(finding.absent.reason)},
                {"cause", finding.cause},
                {"hint", finding.hint}});
  }
}

void ScrapeLog::scrape(const std::shared_ptr<const std::vector<Finding>>& findings, const std::set<Trouble>& failures,
                       bool partial) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(last_findings_, findings) != findings) log_findings(*findings);
  if (failures.empty() && failing_.empty()) return;
  Causes broken;
  for (const Trouble& trouble : failures) {
    if (!failing_.contains(trouble))
      broken[{trouble.device, trouble.where, trouble.error}].push_back(trouble.collector);
  }
  log_broken(broken);
  Causes working;
  for (auto it = failing_.begin(); it != failing_.end();) {
    if (partial || failures.contains(*it)) {
      ++it;
      continue;
    }
    working[{it->device, it->where, it->error}].push_back(it->collector);
    it = failing_.erase(it);
  }
  log_working(working);
  failing_.insert(failures.begin(), failures.end());
}

void ScrapeLog::late(const std::vector<std::string_view>& collectors, Nanoseconds now) {
  constexpr Nanoseconds kQuiet = std::chrono::hours(1);
  const std::lock_guard lock(mutex_);
  std::string fresh;
  for (const std::string_view collector : collectors) {
    const auto [known, added] = late_.try_emplace(std::string(collector), now);
    if (added || now - std::exchange(known->second, now) >= kQuiet)
      fresh += (fresh.empty() ? "" : ",") + std::string(collector);
  }
  if (fresh.empty()) return;
  log_.write(
      LogLevel::warn, "a scrape timed out before all collectors finished; its page omits them",
      {{"collector", fresh},
       {"hint", "raise Prometheus' scrape_timeout or --web.timeout, or request fewer collectors with collect[]"}});
}

void ScrapeLog::log_broken(const Causes& causes) {
  for (const auto& [cause, collectors] : causes) {
    const std::string flags = joined(collectors, " ", "--no-collector.");
    log_.write(LogLevel::error, "a read failed; the rest of the scrape is complete",
               {{"collector", joined(collectors, ",")},
                {"device", cause.device},
                {"where", cause.where},
                {"error", cause.error},
                {"hint", "each scrape tries again; if it keeps failing, see dmesg" +
                             (flags.empty() ? "" : ", or turn it off with " + flags)}});
  }
}

void ScrapeLog::log_working(const Causes& causes) {
  for (const auto& [cause, collectors] : causes) {
    log_.write(LogLevel::info, "the read works again",
               {{"collector", joined(collectors, ",")}, {"device", cause.device}, {"where", cause.where}});
  }
}

}  // namespace igpu
