// SPDX-License-Identifier: Apache-2.0
#include "base/option.h"

#include <array>
#include <charconv>
#include <stdexcept>

#include "base/scan.h"
#include "igpu/duration.h"

namespace igpu {
namespace {

// As parse_duration() reads it; whole milliseconds.
std::string duration_text(Nanoseconds duration) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return milliseconds % 1000 == 0 ? std::to_string(milliseconds / 1000) + "s" : std::to_string(milliseconds) + "ms";
}

std::optional<double> scan_ratio(std::string_view text) {
  double ratio = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, ratio, std::chars_format::fixed);
  if (error != std::errc() || rest != end || !(ratio >= 0 && ratio <= 1)) return std::nullopt;
  return ratio;
}

struct UnitName {
  std::string_view name;
  double nanoseconds;
};
// Longer names first: "ms" must not be read as "m" and a rest.
constexpr std::array<UnitName, 6> kUnits{{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}}};
constexpr double kMaximum = 366.0 * 24 * 3600e9;

}  // namespace

std::string NumberOption::refusal(std::string_view value) const {
  const auto number = scan_u64(value);
  if (number && *number >= least_ && *number <= most_) return {};
  if (most_ == std::numeric_limits<Value>::max() && least_ == 0) return "is not a number";
  return "is not a number from " + std::to_string(least_) + " to " + std::to_string(most_);
}
NumberOption::Value NumberOption::parse(std::span<const std::string> values) const { return *scan_u64(values.back()); }

std::string DurationOption::refusal(std::string_view value) const {
  const auto duration = parse_duration(value);
  if (!duration) return "is not a duration (write it like 500ms, 1s, 2m)";
  if (*duration >= least_ && *duration <= most_) return {};
  if (most_ == Nanoseconds::max()) return "is too short";
  return "is not a duration from " + duration_text(least_) + " to " + duration_text(most_);
}
DurationOption::Value DurationOption::parse(std::span<const std::string> values) const {
  return *parse_duration(values.back());
}

std::string SwitchOption::refusal(std::string_view value) const {
  return value == "true" || value == "false" ? "" : "is neither true nor false";
}
std::string RatioOption::refusal(std::string_view value) const {
  const auto ratio = scan_ratio(value);
  return ratio ? std::string() : "is not a number from 0 to 1";
}
RatioOption::Value RatioOption::parse(std::span<const std::string> values) const { return *scan_ratio(values.back()); }

SwitchOption::Value SwitchOption::parse(std::span<const std::string> values) const {
  return values.empty() ? default_value() == "enabled" : values.back() == "true";
}

OptionValues::OptionValues(std::span<const OptionDescriptor* const> options, const Given& given) {
  for (const OptionDescriptor* option : options) {
    std::vector<std::string>& values = values_[std::string(option->flag())];
    if (const auto found = given.find(option->flag()); found != given.end()) {
      for (const std::string& value : found->second) {
        if (const std::string why = option->refusal(value); !why.empty())
          throw OptionError(found->first, "\"" + value + "\" " + why);
      }
      values = found->second;
    } else if (!option->default_value().empty() && !option->placeholder().empty()) {
      values = {std::string(option->default_value())};
    }
  }
}

const std::vector<std::string>& OptionValues::texts(std::string_view flag) const {
  const auto found = values_.find(flag);
  if (found == values_.end()) throw std::logic_error("the collector does not declare --" + std::string(flag));
  return found->second;
}

std::optional<Nanoseconds> parse_duration(std::string_view text) {
  if (text == "0") return Nanoseconds(0);
  if (text.empty()) return std::nullopt;
  double total = 0;
  while (!text.empty()) {
    double value = 0;
    // Fixed notation only: no exponent, no "inf".
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (error != std::errc() || !(value >= 0) || text.front() < '0' || text.front() > '9') return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const UnitName* unit = nullptr;
    for (const UnitName& candidate : kUnits) {
      if (text.starts_with(candidate.name)) {
        unit = &candidate;
        break;
      }
    }
    if (unit == nullptr) return std::nullopt;
    text.remove_prefix(unit->name.size());
    total += value * unit->nanoseconds;
    if (!(total <= kMaximum)) return std::nullopt;
  }
  return Nanoseconds(static_cast<Nanoseconds::rep>(total));
}

}  // namespace igpu
