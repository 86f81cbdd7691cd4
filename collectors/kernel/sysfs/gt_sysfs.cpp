// SPDX-License-Identifier: Apache-2.0
#include "kernel/sysfs/gt_sysfs.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <span>

#include "base/scan.h"

namespace igpu {

// Each driver's files, below the GT's own folder.
struct GtLayout {
  struct LimitFile {
    std::string_view limit, file;
  };
  std::string_view actual, requested, residency;
  std::string_view throttle_folder, throttle_prefix, throttle_status, throttle_snapshot;
  std::span<const LimitFile> limits;
  std::optional<std::uint64_t> residency_range;
};

namespace {

constexpr std::uint64_t kU32Range = std::uint64_t{1} << 32;

constexpr GtLayout::LimitFile kI915Limits[] = {{"rp0", "rps_RP0_freq_mhz"},    {"rp1", "rps_RP1_freq_mhz"},
                                               {"rpn", "rps_RPn_freq_mhz"},    {"rpe", "rps_vlv_rpe_freq_mhz"},
                                               {"min", "rps_min_freq_mhz"},    {"max", "rps_max_freq_mhz"},
                                               {"boost", "rps_boost_freq_mhz"}};
constexpr GtLayout kI915{
    "rps_act_freq_mhz", "rps_cur_freq_mhz", "rc6_residency_ms", ".", "throttle_reason_", "throttle_reason_status", "",
    kI915Limits,        kU32Range};

constexpr GtLayout::LimitFile kLegacyLimits[] = {{"rp0", "gt_RP0_freq_mhz"},  {"rp1", "gt_RP1_freq_mhz"},
                                                 {"rpn", "gt_RPn_freq_mhz"},  {"rpe", "gt_vlv_rpe_freq_mhz"},
                                                 {"rpe", "vlv_rpe_freq_mhz"}, {"min", "gt_min_freq_mhz"},
                                                 {"max", "gt_max_freq_mhz"},  {"boost", "gt_boost_freq_mhz"}};
constexpr GtLayout kI915Legacy{"gt_act_freq_mhz", "gt_cur_freq_mhz", "power/rc6_residency_ms", "", "", "", "",
                               kLegacyLimits,     kU32Range};

constexpr GtLayout::LimitFile kXeLimits[] = {{"rp0", "freq0/rp0_freq"}, {"rpn", "freq0/rpn_freq"},
                                             {"rpe", "freq0/rpe_freq"}, {"rpa", "freq0/rpa_freq"},
                                             {"min", "freq0/min_freq"}, {"max", "freq0/max_freq"}};
constexpr GtLayout kXe{"freq0/act_freq",         "freq0/cur_freq", "gtidle/idle_residency_ms",
                       "freq0/throttle",         "reason_",        "freq0/throttle/status",
                       "freq0/throttle/reasons", kXeLimits,        std::nullopt};

// "gt0", "gt1", sorted by the number.
std::vector<GtFolder> numbered_folders(const Directory& sys, const std::string& folder, std::string_view prefix) {
  std::vector<GtFolder> found;
  for (const std::string& name : sorted_names(sys, folder)) {
    if (!name.starts_with(prefix)) continue;
    if (const auto number = scan_integer<unsigned>(std::string_view(name).substr(prefix.size())))
      found.push_back({*number, folder + "/" + name});
  }
  std::ranges::sort(found, {}, &GtFolder::number);
  return found;
}

}  // namespace

std::vector<GtFolder> xe_gt_folders(const Directory& sys, std::string_view pci_path) {
  std::map<unsigned, std::string> gts;  // if two tiles had a number in common, engines would be counted twice
  for (const GtFolder& tile : numbered_folders(sys, std::string(pci_path), "tile"))
    for (GtFolder& gt : numbered_folders(sys, tile.path, "gt")) gts.try_emplace(gt.number, std::move(gt.path));
  std::vector<GtFolder> found;
  for (auto& [number, path] : gts) found.push_back({number, std::move(path)});
  return found;
}

GtSysfs::GtSysfs(const Directory& sys, std::string id, const std::string& base, const GtLayout& layout)
    : sys_(&sys),
      id_(std::move(id)),
      actual_(sys, base + std::string(layout.actual)),
      requested_(sys, base + std::string(layout.requested)),
      residency_(sys, base + std::string(layout.residency)),
      residency_range_(layout.residency_range) {
  for (const auto& limit : layout.limits) {
    std::string path = base + std::string(limit.file);
    if (file_exists(sys, path)) limits_.push_back({limit.limit, Attribute(sys, std::move(path))});
  }
  if (!layout.throttle_status.empty()) throttle_status_.emplace(sys, base + std::string(layout.throttle_status));
  if (!layout.throttle_snapshot.empty()) {
    throttle_snapshot_.emplace(sys, base + std::string(layout.throttle_snapshot));
    offers_snapshot_ = file_exists(sys, throttle_snapshot_->path());
  }
  if (layout.throttle_folder.empty()) return;
  const std::string folder = layout.throttle_folder == "." ? base : base + std::string(layout.throttle_folder) + "/";
  reason_prefix_ = folder + std::string(layout.throttle_prefix);
  // The set of reasons is open-ended: whatever files there are.
  for (const std::string& name : sorted_names(sys, base + std::string(layout.throttle_folder))) {
    const std::string_view prefix = layout.throttle_prefix;
    if (!name.starts_with(prefix) || name.size() == prefix.size()) continue;
    const std::string reason = name.substr(prefix.size());
    if (reason == "status" || reason == "any") continue;  // "any" is the name of their sum
    reasons_.push_back({reason, Attribute(sys, reason_prefix_ + reason)});
  }
}

std::vector<GtSysfs> GtSysfs::find(const Directory& sys, const Gpu& gpu) {
  std::vector<GtSysfs> gts;
  if (gpu.driver == Driver::xe) {
    for (const GtFolder& gt : xe_gt_folders(sys, gpu.pci_path))
      gts.push_back(GtSysfs(sys, std::to_string(gt.number), gt.path + "/", kXe));
  } else {
    const std::string card = gpu.pci_path + "/drm/" + gpu.card + "/";
    for (const GtFolder& gt : numbered_folders(sys, card + "gt", "gt"))
      gts.push_back(GtSysfs(sys, std::to_string(gt.number), gt.path + "/", kI915));
    if (gts.empty() && !gpu.card.empty()) gts.push_back(GtSysfs(sys, "0", card, kI915Legacy));
  }
  return gts;
}

// None of these files has a value for "no data": a driver that reports it has failed.
Reading<std::uint64_t> GtSysfs::number(Attribute& attribute) {
  const auto value = attribute.number();
  if (value.is_absent() && value.absent().os_error == ENODATA)
    return Failure{std::error_code(ENODATA, std::generic_category()), attribute.path()};
  return value;
}

Reading<Hertz> GtSysfs::hertz(Attribute& megahertz) {
  constexpr std::uint64_t kImpossibleMhz = 20000;  // several times what any GPU has ever run at
  const auto value = number(megahertz);
  if (!value) return value.propagate<Hertz>();
  if (*value >= kImpossibleMhz) return Absent{Reason::hardware};
  return Hertz{static_cast<double>(*value) * 1e6};
}

Reading<Hertz> GtSysfs::bound(Limit& limit) {
  // Two steps of the scale in which the hardware counts frequencies (50 MHz / 3): values within rounding are accepted.
  constexpr double kRounding = 34e6;
  const auto value = hertz(limit.attribute);
  if (!value) return value;
  if (value->value <= 0) return Absent{Reason::hardware};
  if (limit.name == "rp0") highest_ = *value;
  const bool is_operating_point = limit.name == "rpe" || limit.name == "rpa";
  if (is_operating_point && highest_ && value->value > highest_->value + kRounding) return Absent{Reason::hardware};
  return value;
}

namespace {

bool looks_like_a_reason(std::string_view word) {
  constexpr std::size_t kLongest = 32;
  return !word.empty() && word.size() <= kLongest && word.front() >= 'a' && word.front() <= 'z' &&
         word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

// "none", or a list with at least one reason.
bool names_reasons(std::string_view words) {
  while (!words.empty())
    if (looks_like_a_reason(trim(take_until(words, ' ')))) return true;
  return false;
}

}  // namespace

// Remembers reasons that the driver names without having a file for them, so that they are also reported when inactive.
// Only if named twice in a row, because one snapshot may be truncated in the middle of a word.
void GtSysfs::learn_reasons(std::string_view words, const std::function<void(std::string_view, bool)>& visit) {
  constexpr std::size_t kMost = 64;  // more than the hardware's register has bits
  std::vector<std::string> news;
  while (!words.empty()) {
    const std::string_view word = trim(take_until(words, ' '));
    if (word == "none" || word == "any" || !looks_like_a_reason(word) || reasons_.size() + news.size() >= kMost)
      continue;
    if (std::ranges::any_of(reasons_, [&](const ThrottleReason& r) { return r.name == word; })) continue;
    if (!contains(news, word)) news.emplace_back(word);
  }
  for (const std::string& word : news) {
    if (!contains(named_once_, word)) {
      visit(word, true);
    } else {
      reasons_.push_back({word, Attribute(*sys_, reason_prefix_ + word)});
    }
  }
  named_once_ = std::move(news);
}

Reading<Unit> GtSysfs::throttle(const std::function<void(std::string_view, bool)>& visit) {
  std::array<char, 1024> buffer;
  const Reading<std::string_view> none = Absent{Reason::hardware};
  const auto snapshot = throttle_snapshot_ ? throttle_snapshot_->text(buffer) : none;
  const bool legible = snapshot && names_reasons(*snapshot);
  if (legible) {
    visit("any", *snapshot != "none");
    learn_reasons(*snapshot, visit);
    for (const ThrottleReason& reason : reasons_) {
      bool active = false;
      for (std::string_view rest = *snapshot; !rest.empty() && !active;)
        active = trim(take_until(rest, ' ')) == reason.name;
      visit(reason.name, active);
    }
    return Unit{};
  }
  // Kernels without a folder for each GT have no throttle reasons; the others have them if the hardware reports them.
  if (!throttle_status_) return Absent{Reason::kernel};
  const auto status = number(*throttle_status_);
  if (status.is_absent() && reasons_.empty()) return Absent{Reason::hardware};
  if (status) visit("any", *status != 0);
  std::optional<Failure> failure;
  if (snapshot && !legible)
    failure = Failure{std::make_error_code(std::errc::bad_message), "throttle reasons: not a list of names"};
  if (status.is_failure()) failure = status.failure();
  for (ThrottleReason& reason : reasons_) {
    const auto value = number(reason.attribute);
    if (value) visit(reason.name, *value != 0);
    if (value.is_failure()) failure = value.failure();
  }
  if (failure) return *failure;
  return Unit{};
}

Reading<Unit> GtSysfs::active_throttle(const std::function<void(std::string_view)>& visit) {
  if (!offers_snapshot_ && throttle_status_) {
    const auto status = number(*throttle_status_);
    if (status && *status == 0) return Unit{};
  }
  return throttle([&visit](std::string_view reason, bool active) {
    if (active) visit(reason);
  });
}

XeGtIdle::XeGtIdle(const Directory& sys, std::string_view pci_path) {
  for (const GtFolder& gt : xe_gt_folders(sys, pci_path)) {
    auto file = sys.open(gt.path + "/gtidle/idle_residency_ms");
    if (!file) continue;
    files_.push_back(std::move(*file));
    residencies_.push_back({gt.number, Absent{}});
  }
}

const std::vector<XeGtIdle::Residency>& XeGtIdle::read() {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    std::array<char, 32> buffer;
    const auto text = files_[i]->read(buffer);
    if (!text) {
      residencies_[i].milliseconds = text.propagate<std::uint64_t>();
      continue;
    }
    const auto value = scan_u64(*text);
    residencies_[i].milliseconds =
        value ? Reading<std::uint64_t>(*value) : Reading<std::uint64_t>(Absent{Reason::kernel, EINVAL});
  }
  return residencies_;
}

}  // namespace igpu
