// SPDX-License-Identifier: Apache-2.0
#include "workloads/rules_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "service/descriptor.h"
#include "web_config/yaml_tree.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kLargest = 1U << 20;
constexpr std::size_t kMostRules = 1000;

struct Field {
  std::string_view key;
  std::vector<std::string> WorkloadRule::*patterns;
};
constexpr std::array<Field, 5> kFields{{{"comm", &WorkloadRule::comm},
                                        {"exe", &WorkloadRule::exe},
                                        {"cgroup", &WorkloadRule::cgroup},
                                        {"user", &WorkloadRule::user},
                                        {"ancestor", &WorkloadRule::ancestor}}};

[[noreturn]] void fail(std::size_t line, const std::string& what) { throw YamlError(line, what); }

const YamlNode& mapping(const YamlNode& node, const std::string& what) {
  if (node.kind != YamlNode::Kind::mapping) fail(node.line, what + " has to be a mapping of keys to values");
  return node;
}

std::string text_of(const YamlNode& node, std::string_view key) {
  if (node.kind != YamlNode::Kind::scalar) fail(node.line, std::string(key) + " has to be text");
  return node.text;
}

void read_match(const YamlNode& node, WorkloadRule& rule) {
  for (const YamlNode::Entry& entry : mapping(node, "match").entries) {
    const Field* field = nullptr;
    for (const Field& known : kFields)
      if (known.key == entry.key) field = &known;
    if (field == nullptr)
      fail(entry.line, "match: unknown key " + in_quotes(entry.key) + "; known are comm, exe, cgroup, user, ancestor");
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
      fail(entry.line, "unknown key " + in_quotes(entry.key) + " of a rule; known are name, match");
    }
  }
  if (const std::string error = error_in(rule); !error.empty()) fail(node.line, error);
  return rule;
}

// A regular file of up to a megabyte.
std::string read_file(const std::string& path) {
  const auto fail_with = [&](const std::string& why) { throw std::runtime_error(path + ": cannot be read: " + why); };
  const auto fail_by_errno = [&](int error) {
    std::string why = std::generic_category().message(error);
    if (error == EACCES) why += "; the exporter runs as user " + std::to_string(::geteuid()) + ", who needs that right";
    fail_with(why);
  };
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) fail_by_errno(errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_by_errno(errno);
  if (!S_ISREG(status.st_mode)) fail_with("it is no regular file");
  std::string text(kLargest + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_by_errno(errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kLargest) fail_with("it is larger than 1 MiB");
  text.resize(size);
  return text;
}

bool same(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

bool is_recent(const timespec& changed) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return changed.tv_sec >= now.tv_sec - 2 && changed.tv_sec <= now.tv_sec + 2;
}

}  // namespace

WorkloadRules parse_workload_rules(std::string_view text, const std::string& path) {
  try {
    const std::shared_ptr<const YamlNode> root = parse_yaml(text);
    if (root->kind == YamlNode::Kind::null) fail(1, "the file is empty; it needs rules:");
    WorkloadRules rules;
    for (const YamlNode::Entry& entry : mapping(*root, "the file").entries) {
      if (entry.key != "rules") fail(entry.line, "unknown key " + in_quotes(entry.key) + "; known is rules");
      if (entry.value->kind != YamlNode::Kind::sequence) fail(entry.line, "rules has to be a list");
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

bool WorkloadRulesFile::Stamp::operator==(const Stamp& other) const {
  return error == other.error && device == other.device && inode == other.inode && size == other.size &&
         same(modified, other.modified) && same(changed, other.changed);
}

WorkloadRulesFile::Stamp WorkloadRulesFile::stamp() const {
  Stamp stamp;
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) {
    stamp.error = errno;
    return stamp;
  }
  stamp.device = status.st_dev;
  stamp.inode = status.st_ino;
  stamp.size = status.st_size;
  stamp.modified = status.st_mtim;
  stamp.changed = status.st_ctim;
  return stamp;
}

// The stamp is taken before the file is read: a change in between is detected at the next check.
WorkloadRulesFile::WorkloadRulesFile(std::string path, Log& log) : path_(std::move(path)), log_(log), stamp_(stamp()) {
  try {
    rules_ = std::make_shared<const WorkloadRules>(parse_workload_rules(read_file(path_), path_));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(std::string("--workload.rules: ") + error.what());
  }
  settled_ = !is_recent(stamp_.changed);
}

std::shared_ptr<const WorkloadRules> WorkloadRulesFile::current() {
  const Stamp now = stamp();
  if (settled_ && now == stamp_) return rules_;
  stamp_ = now;
  settled_ = !is_recent(now.changed);
  try {
    WorkloadRules rules = parse_workload_rules(read_file(path_), path_);
    const bool was_bad = !std::exchange(last_error_, {}).empty();
    if (rules == *rules_) {
      if (was_bad) log_.write(LogLevel::info, "the workload rules are good again", {{"file", path_}});
      return rules_;
    }
    rules_ = std::make_shared<const WorkloadRules>(std::move(rules));
    log_.write(LogLevel::info, "the workload rules were read again; groups that they name newly start from zero",
               {{"file", path_}});
  } catch (const std::runtime_error& error) {
    if (last_error_ != error.what())
      log_.write(LogLevel::error, "the workload rules cannot be used, the rules in use stay in use",
                 {{"error", error.what()}});
    last_error_ = error.what();
  }
  return rules_;
}

}  // namespace igpu::exporter
