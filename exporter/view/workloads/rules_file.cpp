// SPDX-License-Identifier: Apache-2.0
#include "view/workloads/rules_file.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "text/yaml_tree.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kMostRules = 1000;

constexpr ReloadLog::Messages kMessages{
    .invalid = "the workload rules are not valid; the earlier ones stay in use",
    .reloaded = "the workload rules were reloaded; groups with new names start from zero",
    .valid_again = "the workload rules are valid again",
};

[[noreturn]] void fail(std::size_t line, const std::string& what) { throw YamlError(line, what); }

const YamlNode& mapping(const YamlNode& node, const std::string& what) {
  if (node.kind != YamlNode::Kind::mapping) fail(node.line, what + " must be a mapping of keys to values");
  return node;
}

std::string text_of(const YamlNode& node, std::string_view key) {
  if (node.kind != YamlNode::Kind::scalar) fail(node.line, std::string(key) + " must be text");
  return node.text;
}

void read_match(const YamlNode& node, WorkloadRule& rule) {
  for (const YamlNode::Entry& entry : mapping(node, "match").entries) {
    const auto field = std::ranges::find(kWorkloadRuleFields, entry.key, &WorkloadRuleField::name);
    if (field == kWorkloadRuleFields.end())
      fail(entry.line, "match: unknown key " + in_quotes(entry.key) + "; expected comm, exe, cgroup, user or ancestor");
    auto& patterns = rule.*field->patterns;
    if (entry.value->kind != YamlNode::Kind::sequence) {
      patterns.push_back(text_of(*entry.value, entry.key));
      continue;
    }
    for (const auto& item : entry.value->items) patterns.push_back(text_of(*item, entry.key));
    if (patterns.empty()) fail(entry.line, entry.key + ": an empty list matches nothing");
  }
}

WorkloadRule read_rule(const YamlNode& node) {
  WorkloadRule rule;
  for (const YamlNode::Entry& entry : mapping(node, "a rule").entries) {
    if (entry.key == "name") {
      rule.name = text_of(*entry.value, entry.key);
    } else if (entry.key == "match") {
      read_match(*entry.value, rule);
    } else {
      fail(entry.line, "unknown key " + in_quotes(entry.key) + " of a rule; expected name or match");
    }
  }
  if (const std::string error = error_in(rule); !error.empty()) fail(node.line, error);
  return rule;
}

}  // namespace

WorkloadRules parse_workload_rules(std::string_view text, const std::string& path) {
  try {
    const std::shared_ptr<const YamlNode> root = parse_yaml(text);
    if (root->kind == YamlNode::Kind::null) fail(1, "the file is empty; it needs rules:");
    WorkloadRules rules;
    for (const YamlNode::Entry& entry : mapping(*root, "the file").entries) {
      if (entry.key != "rules") fail(entry.line, "unknown key " + in_quotes(entry.key) + "; expected rules");
      if (entry.value->kind != YamlNode::Kind::sequence) fail(entry.line, "rules must be a list");
      if (entry.value->items.size() > kMostRules)
        fail(entry.line, "more than " + std::to_string(kMostRules) + " rules");
      for (const auto& item : entry.value->items) rules.push_back(read_rule(*item));
    }
    if (rules.empty()) fail(root->line, "no rule; each has a name and a match");
    return rules;
  } catch (const YamlError& error) {
    throw std::runtime_error(path + ":" + std::to_string(error.line()) + ": " + error.what());
  }
}

WorkloadRulesFile::WorkloadRulesFile(std::string path, Log& log)
    : path_(std::move(path)),
      reload_log_(log, kMessages, path_, "correct the file; it is read again as soon as it has changed") {
  try {
    rules_ = std::make_shared<const WorkloadRules>(load());
  } catch (const std::runtime_error& error) {
    throw FlagFileError("workload.rules", error.what());
  }
}

WorkloadRules WorkloadRulesFile::load() {
  stamps_ = {};
  stamps_.add(path_);
  return parse_workload_rules(read_config_file(path_, path_), path_);
}

std::shared_ptr<const WorkloadRules> WorkloadRulesFile::current() {
  if (!stamps_.may_have_changed()) return rules_;
  try {
    WorkloadRules rules = load();
    const bool changed = rules != *rules_;
    if (changed) rules_ = std::make_shared<const WorkloadRules>(std::move(rules));
    reload_log_.succeeded(changed);
  } catch (const std::runtime_error& error) {
    reload_log_.failed(error.what());
  }
  return rules_;
}

std::string workload_rules_file(const MonitorOptions& options) {
  const auto given = options.collector_options.find("workload.rules");
  return given == options.collector_options.end() || given->second.empty() ? std::string() : given->second.back();
}

MonitorOptions with_workload_rules(MonitorOptions options, Log& log) {
  if (std::string file = workload_rules_file(options); !file.empty())
    options.workload_rules = std::make_shared<WorkloadRulesFile>(std::move(file), log);
  return options;
}

}  // namespace igpu::exporter
