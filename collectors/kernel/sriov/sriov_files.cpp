// SPDX-License-Identifier: Apache-2.0
#include "kernel/sriov/sriov_files.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/scan.h"
#include "kernel/clients/drm_descriptor.h"
#include "kernel/device/drm_nodes.h"
#include "kernel/pmu/engine_events.h"
#include "machine/linux_errors.h"

namespace igpu {
namespace {

constexpr std::uint64_t kMostInPci = 65535;  // NumVFs and TotalVFs have 16 bits (linux/pci_regs.h)
constexpr std::size_t kMostGts = 8;
constexpr std::size_t kMostFunctionsText = 64UL * 1024;  // 256 functions with all kinds take half of it

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kKindsOfI915{
    {{"guc_storm", "guc_time"}, {"irq_storm", "irq_time"}, {"dbs_storm", "doorbell_time"}}};

Reading<std::uint32_t> vf_count(Attribute& file) {
  const auto number = file.number();
  if (!number) return number.propagate<std::uint32_t>();
  if (*number > kMostInPci) return Failure{std::make_error_code(std::errc::bad_message), file.path()};
  return static_cast<std::uint32_t>(*number);
}

std::vector<std::string> numbered(const Directory& sys, const std::string& folder, std::string_view prefix) {
  std::vector<std::string> names;
  (void)sys.for_each(folder, [&](std::string_view name) {
    if (name.starts_with(prefix) && scan_integer<std::uint32_t>(name.substr(prefix.size()))) names.emplace_back(name);
    return names.size() < kMostGts;
  });
  std::ranges::sort(names);
  return names;
}

// The driver reports a value that the GTs do not share as EUCLEAN; where each GT has its file, the same is found here.
Reading<std::uint64_t> common_number(std::vector<Attribute>& files) {
  Reading<std::uint64_t> common = Absent{Reason::kernel, ENOENT};
  for (Attribute& file : files) {
    auto number = file.number();
    if (number.is_failure() && number.failure().code.value() == EUCLEAN) return Absent{Reason::kernel, EUCLEAN};
    if (!number) return number;
    if (common && *common != *number) return Absent{Reason::kernel, EUCLEAN};
    common = std::move(number);
  }
  return common;
}

}  // namespace

EnabledVfs::EnabledVfs(const Directory& sys, const Gpu& gpu)
    : sys_(sys), first_(gpu.pci_path + "/virtfn0"), file_(sys, gpu.pci_path + "/sriov_numvfs") {}

Reading<std::uint32_t> EnabledVfs::read() { return vf_count(file_); }

Reading<EnabledVfs::Counted> EnabledVfs::counted() {
  const auto enabled = read();
  if (enabled.is_failure()) return enabled.failure();
  if (!enabled || *enabled == 0) return Counted{};
  // The links are made anew whenever VFs are enabled.
  const auto first = sys_.stat(first_);
  return Counted{std::min(*enabled, kMostCountedVfs), *enabled, first ? first->inode : 0};
}

PhysicalFunction::PhysicalFunction(const Directory& sys, const Gpu& gpu)
    : sys_(sys),
      pci_path_(gpu.pci_path),
      prelim_(gpu.driver == Driver::i915 && !gpu.card.empty() ? gpu.pci_path + "/drm/" + gpu.card + "/prelim_iov/vf"
                                                              : std::string()),
      total_file_(sys, gpu.pci_path + "/sriov_totalvfs"),
      enabled_(sys, gpu) {}

Reading<std::uint32_t> PhysicalFunction::total() {
  if (total_) return *total_;
  auto total = vf_count(total_file_);
  if (total) total_ = *total;
  return total;
}

PhysicalFunction::Limits PhysicalFunction::limits_of(std::uint32_t number) const {
  Limits limits;
  if (prelim_.empty()) {
    const std::string profile = pci_path_ + "/sriov_admin/vf" + std::to_string(number) + "/profile/";
    limits.exec_quantum.emplace_back(sys_, profile + "exec_quantum_ms");
    limits.preempt_timeout.emplace_back(sys_, profile + "preempt_timeout_us");
    limits.vram_quota.emplace_back(sys_, profile + "vram_quota");
    return limits;
  }
  const std::string folder = prelim_ + std::to_string(number);
  for (const std::string& gt : numbered(sys_, folder, "gt")) {
    const std::string profile = folder + "/" + gt + "/";
    limits.exec_quantum.emplace_back(sys_, profile + "exec_quantum_ms");
    limits.preempt_timeout.emplace_back(sys_, profile + "preempt_timeout_us");
  }
  return limits;
}

void PhysicalFunction::list() {
  functions_.clear();
  limits_.clear();
  constexpr std::string_view kLink = "virtfn";
  (void)sys_.for_each(pci_path_, [&](std::string_view name) {
    if (!name.starts_with(kLink)) return true;
    const auto index = scan_integer<std::uint32_t>(name.substr(kLink.size()));
    if (!index || *index >= kMostVfs) return true;
    auto path = sys_.resolve(pci_path_ + "/" + std::string(name));
    if (!path || !is_pci_address(last_part(*path))) return true;
    std::string address(last_part(*path));
    functions_.push_back({*index + 1, std::move(address), *std::move(path), {}});
    return true;
  });
  std::ranges::sort(functions_, {}, &VfDevice::number);
  for (const VfDevice& function : functions_) limits_.push_back(limits_of(function.number));
}

std::span<const VfDevice> PhysicalFunction::functions(std::uint32_t enabled, const StaysBound& stays_bound) {
  if (listed_for_ != enabled || functions_.size() != enabled) list();
  listed_for_ = enabled;
  for (VfDevice& function : functions_) {
    if (!function.driver.empty() && stays_bound(function.address)) continue;
    const auto driver = sys_.read_link(function.pci_path + "/driver");
    function.driver = driver ? std::string(last_part(*driver)) : std::string();
  }
  return functions_;
}

VfShares PhysicalFunction::shares(std::size_t index) {
  Limits& limits = limits_[index];
  return {
      common_number(limits.exec_quantum).map([](std::uint64_t ms) { return Seconds{static_cast<double>(ms) / 1e3}; }),
      common_number(limits.preempt_timeout).map([](std::uint64_t us) {
        return Seconds{static_cast<double>(us) / 1e6};
      }),
      common_number(limits.vram_quota).map([](std::uint64_t bytes) { return Bytes{static_cast<double>(bytes)}; })};
}

std::vector<VfAdverseEvents> parse_adverse_events(std::string_view text) {
  std::vector<VfAdverseEvents> all;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (!line.starts_with("VF")) continue;
    line.remove_prefix(2);
    const std::string_view number = take_until(line, ':');
    const auto vf = scan_integer<std::uint32_t>(number);
    if (!vf || *vf == 0 || *vf > kMostVfs || trim(number) != number) continue;
    VfAdverseEvents events{*vf, {}};
    line = trim(line);
    while (!line.empty() && events.counts.size() < kMostKinds) {
      std::string_view count = take_until(line, ' ');
      std::string_view kind = take_until(count, ':');
      const auto value = scan_u64(count);
      // The keys of xe are those of the thresholds: a number of errors, or a time of which each excess counts as one.
      for (const std::string_view unit : {"_count", "_us"})
        if (kind.ends_with(unit)) kind.remove_suffix(unit.size());
      for (const auto& [of_i915, of_xe] : kKindsOfI915)
        if (kind == of_i915) kind = of_xe;
      const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
      if (!value || kind.empty() || !std::ranges::all_of(kind, is_plain)) continue;
      events.counts.push_back({std::string(kind), *value});
    }
    all.push_back(std::move(events));
  }
  return all;
}

AdverseEventFiles::AdverseEventFiles(const Directory& sys, const Gpu& gpu)
    : sys_(sys), address_(gpu.address), card_(gpu.card), is_xe_(gpu.driver == Driver::xe) {}

// xe moved the files from gtN/pf/ to sriov/pf/tileT/gtG/; i915-sriov-dkms has them in gtN/iov/. Before Linux 6.8 the
// folder of a GPU was named after its primary node's number.
Reading<Unit> AdverseEventFiles::find() {
  std::string folder = "kernel/debug/dri";
  auto found = sys_.stat(folder);  // most often there is no debugfs, or none that we may read
  if (found) {
    folder += "/" + address_;
    found = sys_.stat(folder);
    if (found.is_absent() && found.absent().reason == Reason::kernel && card_.starts_with("card")) {
      folder = "kernel/debug/dri/" + card_.substr(4);
      found = sys_.stat(folder);
    }
  }
  if (!found) return found.propagate<Unit>();
  const auto add = [&](const std::string& path) {
    if (file_exists(sys_, path)) files_.push_back(path);
  };
  const std::string newer = folder + "/sriov/pf";
  for (const std::string& tile : numbered(sys_, newer, "tile"))
    for (const std::string& gt : numbered(sys_, newer + "/" + tile, "gt"))
      add(newer + "/" + tile + "/" + gt + "/adverse_events");
  const std::string below_gt = is_xe_ ? "/pf/adverse_events" : "/iov/adverse_events";
  if (files_.empty())
    for (const std::string& gt : numbered(sys_, folder, "gt")) add(folder + "/" + gt + below_gt);
  if (files_.empty()) return Absent{Reason::kernel, ENOENT};
  return Unit{};
}

Reading<std::vector<VfAdverseEvents>> AdverseEventFiles::read() {
  using All = std::vector<VfAdverseEvents>;
  if (files_.empty())
    if (const auto found = find(); !found) return found.propagate<All>();
  All sums;
  buffer_.resize(kMostFunctionsText);
  for (const std::string& file : files_) {
    const auto text = sys_.read(file, buffer_);
    if (!text) return text.propagate<All>();
    for (VfAdverseEvents& events : parse_adverse_events(*text)) {
      const auto same = std::ranges::find(sums, events.vf, &VfAdverseEvents::vf);
      if (same == sums.end()) {
        sums.push_back(std::move(events));
        continue;
      }
      for (VfAdverseEvents::Count& count : events.counts) {
        const auto kind =
            std::ranges::find_if(same->counts, [&](const auto& known) { return known.kind == count.kind; });
        if (kind != same->counts.end()) {
          kind->events += count.events;
        } else if (same->counts.size() < kMostKinds) {
          same->counts.push_back(std::move(count));
        }
      }
    }
  }
  return sums;
}

}  // namespace igpu
