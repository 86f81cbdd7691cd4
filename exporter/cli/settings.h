// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "igpu/units.h"

namespace igpu::exporter {

struct CommandFlag;

// What was given for one flag. The readers throw UsageError, which names the origin.
struct Setting {
  std::vector<std::string> values;    // of a switch: "true" or "false"
  std::string origin;                 // its name in errors: "--gpu", "INTEL_GPU_EXPORTER_GPU"
  const CommandFlag* flag = nullptr;  // whose take() reads it

  [[noreturn]] void refuse(const std::string& why) const;
  const std::string& text() const { return values.back(); }
  const std::string& file() const;  // not ""
  bool on() const { return values.back() == "true"; }
  std::uint64_t number(std::uint64_t least, std::uint64_t most) const;
  std::uint64_t size(std::uint64_t least) const;  // "4096", "256M", "1GiB"
  Nanoseconds duration(Nanoseconds least) const;
  std::size_t one_of(std::span<const std::string_view> words) const;
  template <class T>
  T choice(std::initializer_list<std::pair<std::string_view, T>> choices) const {
    std::vector<std::string_view> words;
    for (const auto& [word, value] : choices) words.push_back(word);
    return (choices.begin() + one_of(words))->second;
  }
  // Each word of all values, which commas separate.
  std::vector<Setting> each() const;
  std::vector<std::string> words() const;
};

// The values given for flags, from any source.
class Settings {
 public:
  void set(const std::string& flag, Setting setting) { settings_.insert_or_assign(flag, std::move(setting)); }
  bool has(const std::string& flag) const { return settings_.contains(flag); }
  const Setting* find(const std::string& flag) const {
    const auto it = settings_.find(flag);
    return it == settings_.end() ? nullptr : &it->second;
  }
  const std::map<std::string, Setting>& all() const { return settings_; }

 private:
  std::map<std::string, Setting> settings_;
};

using Environment = std::function<const char*(const char*)>;  // ::getenv, or a fake in tests

// Adds values from the environment for the flags of a command that are not set yet; flags of its actions and those of
// one letter have no variable. Throws UsageError.
void add_environment(Settings& settings, const std::vector<CommandFlag>& flags, std::string_view command,
                     const Environment& environment);

// "true" or "false" for a switch. Throws UsageError.
std::string switch_value(std::string_view text, bool negated, const std::string& origin);

}  // namespace igpu::exporter
