// SPDX-License-Identifier: Apache-2.0
#include "kernel/sysfs/runtime_pm.h"

#include <algorithm>
#include <array>

#include "base/scan.h"

namespace igpu {

RuntimePm::RuntimePm(const Directory& sys, std::string_view pci_path)
    : path_(std::string(pci_path) + "/power/runtime_status"),
      status_(sys.open(path_)),
      usage_(sys, std::string(pci_path) + "/power/runtime_usage"),
      delay_(sys, std::string(pci_path) + "/power/autosuspend_delay_ms") {}

namespace {

Reading<bool> one_of(const Directory& sys, const std::string& path, std::string_view yes, std::string_view no) {
  std::array<char, 32> buffer;
  const auto text = sys.read(path, buffer);
  if (!text) return text.propagate<bool>();
  const std::string_view word = trim(*text);
  if (word != yes && word != no) return Failure{std::make_error_code(std::errc::bad_message), path};
  return word == yes;
}

}  // namespace

Reading<bool> may_suspend(const Directory& sys, std::string_view pci_path) {
  return one_of(sys, std::string(pci_path) + "/power/control", "auto", "on");
}

Reading<bool> d3cold_allowed(const Directory& sys, std::string_view pci_path) {
  return one_of(sys, std::string(pci_path) + "/d3cold_allowed", "1", "0");
}

Reading<std::uint64_t> RuntimePm::users() { return usage_.number(); }

Nanoseconds RuntimePm::autosuspend_delay() {
  const Reading<std::int64_t> delay = delay_.signed_number();  // negative: it never goes to sleep
  constexpr std::int64_t kLongest = 3'600'000;                 // an hour: no longer delay is configured in practice
  return std::chrono::milliseconds(std::clamp<std::int64_t>(delay.value_or(0), 0, kLongest));
}

Reading<bool> RuntimePm::suspended() {
  if (!status_) return status_.propagate<bool>();
  std::array<char, 32> buffer;
  const auto text = (*status_)->read(buffer);
  if (!text) return text.propagate<bool>();
  const std::string_view status = trim(*text);
  if (status == "unsupported") return Absent{Reason::hardware};
  if (status == "suspended" || status == "suspending") return true;
  if (status == "active" || status == "resuming" || status == "error") return false;
  return Failure{std::make_error_code(std::errc::bad_message), path_};
}

}  // namespace igpu
