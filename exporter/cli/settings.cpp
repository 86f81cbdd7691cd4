// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>

#include "cli/flags.h"
#include "igpu/duration.h"
#include "igpu/words.h"
#include "text/text.h"

namespace igpu::exporter {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::array<std::string_view, 5> kYes{"true", "1", "yes", "on", "enabled"};
constexpr std::array<std::string_view, 5> kNo{"false", "0", "no", "off", "disabled"};

std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace

void Setting::refuse(const std::string& why) const { throw UsageError(origin + ": \"" + text() + "\" " + why); }

const std::string& Setting::file() const {
  if (text().empty()) throw UsageError(origin + ": a value is missing");
  return text();
}

std::uint64_t Setting::number(std::uint64_t least, std::uint64_t most) const {
  const std::optional<std::uint64_t> value = number_of<std::uint64_t>(text());
  if (!value || *value < least || *value > most)
    refuse("is not a number from " + std::to_string(least) + " to " + std::to_string(most));
  return *value;
}

std::uint64_t Setting::size(std::uint64_t least) const {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  std::string_view digits = text();
  if (digits.ends_with("iB")) digits.remove_suffix(2);
  std::uint64_t unit = 1;
  if (const std::size_t at = std::string_view("KMG").find(digits.empty() ? ' ' : digits.back());
      at != std::string_view::npos) {
    unit = std::uint64_t{1} << (10 * (at + 1));
    digits.remove_suffix(1);
  }
  const std::optional<std::uint64_t> value = number_of<std::uint64_t>(digits);
  if (!value || *value > kMost / unit || *value * unit < least)
    refuse("is not a size from " + std::to_string(least) + " bytes to 1024G, such as 64M");
  return *value * unit;
}

Nanoseconds Setting::duration(Nanoseconds least) const {
  const std::optional<Nanoseconds> value = parse_duration(text());
  if (!value) refuse("is not a duration (write it like 500ms, 1s, 2m)");
  if (*value < least) refuse("is too short");
  return *value;
}

std::size_t Setting::one_of(std::span<const std::string_view> words) const {
  const auto found = std::ranges::find(words, text());
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  refuse("is none of " + joined(words));
}

std::vector<std::string> Setting::words() const {
  std::vector<std::string> all;
  for (const std::string& value : values)
    for (const std::string& word : split(value, ",")) all.emplace_back(trimmed(word));
  return all;
}

std::vector<Setting> Setting::each() const {
  std::vector<Setting> all;
  for (std::string& word : words()) all.push_back({{std::move(word)}, origin, flag});
  return all;
}

std::string switch_value(std::string_view text, bool negated, const std::string& origin) {
  const bool yes = std::ranges::find(kYes, text) != kYes.end();
  if (!yes && std::ranges::find(kNo, text) == kNo.end())
    throw UsageError(origin + ": \"" + std::string(text) + "\" is neither true nor false");
  return yes != negated ? "true" : "false";
}

void add_environment(Settings& settings, const std::vector<CommandFlag>& flags, std::string_view command,
                     const Environment& environment) {
  for (const CommandFlag& flag : flags) {
    if (!flag.is_for(command) || flag.name.size() == 1 || settings.has(flag.name)) continue;
    std::string name = environment_name(flag);
    const char* value = environment(name.c_str());
    bool negated = false;
    if (value == nullptr && flag.negatable) {
      name.insert(std::string_view("INTEL_GPU_EXPORTER_").size(), "NO_");
      value = environment(name.c_str());
      negated = true;
    }
    if (value == nullptr || *value == '\0') continue;  // many tools unset a variable by making it empty
    std::vector<std::string> values{value};
    if (flag.is_switch()) values = {switch_value(trimmed(value, kBlanks), negated, name)};
    if (flag.repeatable) values = split(value, ", \t\n");
    settings.set(flag.name, {std::move(values), name, &flag});
  }
}

}  // namespace igpu::exporter
