// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags.h"

namespace igpu::exporter {

// The values given for flags, from any source.
class Settings {
 public:
  struct Setting {
    std::vector<std::string> values;  // switches: "true" or "false"
    std::string origin;               // its name in errors: "--gpu", "INTEL_GPU_EXPORTER_GPU", "x.conf:3: gpu"
  };

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

// Adds values from the environment, then from the file of --config, for flags that are not set yet. Throws UsageError.
void add_environment(Settings& settings, const std::vector<CommandFlag>& flags, const Environment& environment);
void add_config_file(Settings& settings, const std::vector<CommandFlag>& flags, const Settings::Setting& config);
// The same from text; name is used in errors.
void add_config_text(Settings& settings, const std::vector<CommandFlag>& flags, std::string_view text,
                     std::string_view name);

}  // namespace igpu::exporter
