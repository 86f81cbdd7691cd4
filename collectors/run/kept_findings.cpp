// SPDX-License-Identifier: Apache-2.0
#include "run/kept_findings.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/scan.h"

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

}  // namespace igpu
