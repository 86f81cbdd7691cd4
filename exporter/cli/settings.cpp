// SPDX-License-Identifier: Apache-2.0
#include "cli/settings.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

#include "cli/usage_error.h"
#include "text/ascii.h"

namespace igpu::exporter {
namespace {

constexpr std::string_view kBlanks = " \t\r";

bool is_switch(const CommandFlag& flag) { return flag.placeholder.empty(); }

std::optional<bool> truth(std::string_view text) {
  for (const std::string_view yes : {"true", "1", "yes", "on", "enabled"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"false", "0", "no", "off", "disabled"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

std::string switch_value(std::string_view text, bool negated, const std::string& origin) {
  const std::optional<bool> value = truth(text);
  if (!value) throw UsageError(origin + ": \"" + std::string(text) + "\" is neither true nor false");
  return *value != negated ? "true" : "false";
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(", \t\n"), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// ["a", "b"], "a", 'a' or a
std::vector<std::string> file_values(std::string_view text, const std::string& origin) {
  const auto unquoted = [](std::string_view value) {
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front()) {
      value = value.substr(1, value.size() - 2);
    }
    return std::string(value);
  };
  const bool list = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  if (!list) return {unquoted(text)};
  std::vector<std::string> values;
  std::string_view rest = text.substr(1, text.size() - 2);
  while (!trimmed(rest, kBlanks).empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view item = trimmed(rest.substr(0, end), kBlanks);
    if (item.empty()) throw UsageError(origin + ": an empty entry in the list");
    values.push_back(unquoted(item));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return values;
}

// A comment starts the line or follows a space, outside quotes.
std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if ((c == '#' || c == ';') && (i == 0 || kBlanks.find(line[i - 1]) != std::string_view::npos)) {
      return line.substr(0, i);
    }
  }
  return line;
}

const CommandFlag* find_flag(const std::vector<CommandFlag>& flags, std::string_view name, bool& negated) {
  negated = false;
  for (const CommandFlag& flag : flags) {
    if (flag.name == name) return &flag;
  }
  if (name.starts_with("no-")) {
    for (const CommandFlag& flag : flags) {
      if (flag.negatable && flag.name == name.substr(3)) {
        negated = true;
        return &flag;
      }
    }
  }
  return nullptr;
}

}  // namespace

void add_environment(Settings& settings, const std::vector<CommandFlag>& flags, const Environment& environment) {
  for (const CommandFlag& flag : flags) {
    if (settings.has(flag.name)) continue;
    std::string name = environment_name(flag);
    const char* value = environment(name.c_str());
    bool negated = false;
    if (value == nullptr && flag.negatable) {
      name.insert(std::string_view("INTEL_GPU_EXPORTER_").size(), "NO_");
      value = environment(name.c_str());
      negated = true;
    }
    if (value == nullptr || *value == '\0') continue;  // many tools unset a variable by making it empty
    Settings::Setting setting{{}, name};
    if (is_switch(flag)) {
      setting.values = {switch_value(trimmed(value, kBlanks), negated, name)};
    } else if (flag.repeatable) {
      setting.values = split(value);
    } else {
      setting.values = {value};
    }
    settings.set(flag.name, std::move(setting));
  }
}

void add_config_text(Settings& settings, const std::vector<CommandFlag>& flags, std::string_view text,
                     std::string_view name) {
  Settings file;
  std::string section;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(without_comment(text.substr(0, end)), kBlanks);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const std::string where = std::string(name) + ":" + std::to_string(number) + ": ";
    if (line.front() == '[' && line.back() == ']') {
      section = std::string(trimmed(line.substr(1, line.size() - 2), kBlanks)) + ".";
      continue;
    }
    while (line.starts_with('-')) line.remove_prefix(1);
    const std::size_t equals = line.find('=');
    const std::string key = section + std::string(trimmed(line.substr(0, equals), kBlanks));
    bool negated = false;
    const CommandFlag* flag = find_flag(flags, key, negated);
    if (flag == nullptr || flag->name == "config") throw UsageError(where + "unknown flag \"" + key + "\"");
    if (equals == std::string_view::npos && !is_switch(*flag)) throw UsageError(where + key + " needs a value");
    const std::string origin = where + key;
    std::vector<std::string> values = equals == std::string_view::npos
                                          ? std::vector<std::string>{"true"}
                                          : file_values(trimmed(line.substr(equals + 1), kBlanks), origin);
    if (is_switch(*flag)) {
      if (values.size() != 1) throw UsageError(origin + ": one value is expected");
      values.front() = switch_value(values.front(), negated, origin);
    }
    if (const Settings::Setting* earlier = file.find(flag->name); earlier != nullptr) {
      if (!flag->repeatable) throw UsageError(origin + ": given twice");
      values.insert(values.begin(), earlier->values.begin(), earlier->values.end());
    } else if (values.size() > 1 && !flag->repeatable) {
      throw UsageError(origin + ": one value is expected");
    }
    file.set(flag->name, {std::move(values), origin});
  }
  for (const auto& [flag, setting] : file.all()) {
    if (!settings.has(flag)) settings.set(flag, setting);
  }
}

void add_config_file(Settings& settings, const std::vector<CommandFlag>& flags, const Settings::Setting& config) {
  const std::string path = config.values.back();
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file.is_open() && file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (!file.is_open() || file.bad() || text.bad()) {
    throw UsageError(config.origin + ": cannot read " + path + ": " + std::generic_category().message(errno));
  }
  add_config_text(settings, flags, text.str(), path);
}

}  // namespace igpu::exporter
