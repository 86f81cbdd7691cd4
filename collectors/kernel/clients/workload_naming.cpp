// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/workload_naming.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/scan.h"
#include "base/utf8.h"
#include "kernel/clients/cgroup_names.h"
#include "kernel/clients/process.h"

namespace igpu {

namespace {

constexpr std::size_t kShortId = 12;  // as engines show ids to people
constexpr std::size_t kMostAncestors = 32;

std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

std::string bounded(std::string name) {
  if (name.size() <= kLongestWorkloadName) return name;
  const std::string digits = hexadecimal(hash_of(name), 8);
  std::size_t size = kLongestWorkloadName - digits.size() - 1;
  while (size > 0 && (static_cast<unsigned char>(name[size]) & 0xc0U) == 0x80) --size;
  name.resize(size);
  return name + '~' + digits;
}

std::vector<std::string> ancestors_of(std::uint32_t pid, const Directory& proc) {
  std::vector<std::string> names;
  std::array<char, 2048> buffer;
  for (bool is_first = true; pid != 0 && names.size() < kMostAncestors; is_first = false) {
    const auto text = proc.read_start(std::to_string(pid) + "/stat", buffer);
    if (!text) break;
    const auto stat = parse_process_stat(*text);
    if (!stat) break;
    if (!is_first) names.emplace_back(stat->comm);
    pid = stat->parent;
  }
  return names;
}

using Parts = std::vector<std::string_view>;

// One character of a pattern, and where the next one begins.
struct Piece {
  char c = '\0';
  bool special = false;
  std::size_t next = 0;
};
Piece piece_at(std::string_view pattern, std::size_t at) {
  if (pattern[at] == '\\' && at + 1 < pattern.size()) return {pattern[at + 1], false, at + 2};
  return {pattern[at], pattern[at] == '*' || pattern[at] == '?', at + 1};
}

constexpr const auto& kFields = kWorkloadRuleFields;
constexpr std::size_t kAncestor = 4;  // the last one; the others are compared with one text each
static_assert(kFields.size() == kAncestor + 1 && kFields[kAncestor].patterns == &WorkloadRule::ancestor);

std::size_t index_of(std::string_view field) {
  std::size_t i = 0;
  while (i < kFields.size() && kFields[i].name != field) ++i;
  return i;
}

std::size_t wildcards_of(std::string_view pattern) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < pattern.size();) {
    const Piece piece = piece_at(pattern, at);
    count += piece.special ? 1 : 0;
    at = piece.next;
  }
  return count;
}

// What a field matched.
struct Match {
  std::string_view text;
  Parts parts;
};

std::optional<Match> match_any(const std::vector<std::string>& patterns, std::string_view text) {
  if (patterns.empty()) return Match{text, {}};
  for (const std::string& pattern : patterns)
    if (auto parts = match_pattern(pattern, text)) return Match{text, *std::move(parts)};
  return std::nullopt;
}

// One part of a name's template.
struct Token {
  std::string_view literal;  // where there is no field
  std::string_view field;
  std::string_view number;  // after ":"
  bool numbered = false;
  bool is_field = false;
};

// Takes a part off the front. Nothing where the braces do not fit together.
std::optional<Token> take_token(std::string_view& rest) {
  if (rest.starts_with("{{") || rest.starts_with("}}")) {
    const Token token{rest.substr(0, 1), {}, {}, false, false};
    rest.remove_prefix(2);
    return token;
  }
  if (rest.starts_with('}')) return std::nullopt;
  if (!rest.starts_with('{')) {
    const std::string_view literal = rest.substr(0, rest.find_first_of("{}"));
    rest.remove_prefix(literal.size());
    return Token{literal, {}, {}, false, false};
  }
  const std::size_t end = rest.find('}');
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view number = rest.substr(1, end - 1);
  const bool numbered = number.find(':') != std::string_view::npos;
  const std::string_view field = take_until(number, ':');
  rest.remove_prefix(end + 1);
  return Token{{}, field, number, numbered, true};
}

// Fit for one line of a log.
std::string shown(std::string_view field) {
  constexpr std::size_t kLongest = 40;
  std::string text = "{";
  for (const char c : field.substr(0, kLongest)) text += c >= ' ' && c < '\x7f' ? c : '?';
  return text + "}";
}

std::string error_in_token(const WorkloadRule& rule, const Token& token) {
  if (!token.is_field) return {};
  const std::string what = shown(token.field);
  const std::size_t index = index_of(token.field);
  if (index == kFields.size())
    return "name: unknown placeholder " + what + "; known are {comm}, {exe}, {cgroup}, {user} and {ancestor}";
  const auto& patterns = rule.*kFields[index].patterns;
  if (index == kAncestor && patterns.empty()) return "name: {ancestor} needs a pattern for ancestor";
  if (!token.numbered) return {};
  const auto number = scan_integer<std::size_t>(token.number);
  if (!number || *number == 0) return "name: after \":\" comes the number of a wildcard, from 1";
  for (const std::string& pattern : patterns)
    if (wildcards_of(pattern) < *number) return "name: a pattern of " + what + " has not that many wildcards";
  return patterns.empty() ? "name: " + what + " with a number needs a pattern" : std::string();
}

}  // namespace

std::string workload_name(std::string_view name, std::string_view kind) {
  std::string valid;
  append_valid_utf8(valid, name.empty() ? "(no name)" : name);
  valid = bounded(std::move(valid));
  if (valid == kOtherWorkload || valid == kUnattributedWorkload) valid.append(" (").append(kind).append(")");
  return valid;
}

bool WorkloadNaming::needs_exe() const {
  return rules_ && std::ranges::any_of(*rules_, [](const WorkloadRule& rule) {
           return !rule.exe.empty() || rule.name.find("{exe") != std::string::npos;
         });
}

bool WorkloadNaming::needs_ancestors() const {
  return rules_ && std::ranges::any_of(*rules_, [](const WorkloadRule& rule) { return !rule.ancestor.empty(); });
}

std::optional<WorkloadLabels> WorkloadNaming::by_rule(const Subject& subject) const {
  if (!rules_) return std::nullopt;
  const ClientProcess& process = subject.process;
  const RuleSubject asked{process.comm, subject.exe, process.cgroup, process.user, subject.ancestors};
  for (const WorkloadRule& rule : *rules_) {
    if (const auto name = name_by(rule, asked)) {
      WorkloadLabels labels;
      labels.kind = "rule";
      labels.workload = workload_name(*name, labels.kind);
      return labels;
    }
  }
  return std::nullopt;
}

bool WorkloadNaming::set_pod(const ClientProcess& process, WorkloadLabels& labels) {
  if (process.pod_uid.empty()) return false;
  labels.pod_uid = process.pod_uid;
  if (const PodName* pod = names_ == nullptr ? nullptr : names_->pod(process.pod_uid)) {
    labels.name_space = pod->name_space;
    labels.pod = pod->name;
  }
  labels.kind = "pod";
  labels.workload = labels.pod.empty() ? labels.pod_uid : labels.name_space + "/" + labels.pod;
  return true;
}

bool WorkloadNaming::set_container(const ClientProcess& process, WorkloadLabels& labels) {
  // The inner one, if a container runs in another.
  const CgroupNames names = names_of_cgroup(process.cgroup);
  if (process.container_id.empty() && names.machine.empty()) return false;
  labels.container_id = process.container_id;
  if (process.container_id.empty()) {
    labels.container = names.machine;
  } else if (names_ != nullptr) {
    labels.container = names_->container(process.container_id, process.pod_uid, user_of_cgroup(process.cgroup));
  }
  const std::string name = labels.container.empty() ? process.container_id.substr(0, kShortId) : labels.container;
  const bool in_pod = set_pod(process, labels);
  labels.kind = "container";
  labels.workload = in_pod ? labels.workload + "/" + name : name;
  return true;
}

WorkloadLabels WorkloadNaming::labels_of(const Subject& subject) {
  if (auto labels = by_rule(subject)) return *std::move(labels);
  const ClientProcess& process = subject.process;
  WorkloadLabels labels;
  if (by_ == WorkloadBy::user) {
    labels.kind = "user";
    labels.workload = process.user;
  } else if (by_ == WorkloadBy::pod && set_pod(process, labels)) {
    // A pod is more than one container: none of them is named.
  } else if ((by_ == WorkloadBy::pod || by_ == WorkloadBy::container) && set_container(process, labels)) {
    labels.systemd_unit = process.systemd_unit;
  } else if (by_ != WorkloadBy::comm && !process.systemd_unit.empty()) {
    labels.kind = "systemd_unit";
    labels.workload = labels.systemd_unit = process.systemd_unit;
  } else {
    labels.kind = "comm";
    labels.workload = process.comm;
  }
  labels.workload = workload_name(labels.workload, labels.kind);
  // Text from a cgroup or a file is as untrusted as any other.
  for (std::string* text : {&labels.name_space, &labels.pod, &labels.container, &labels.systemd_unit}) {
    std::string valid;
    append_valid_utf8(valid, *text);
    *text = bounded(std::move(valid));
  }
  return labels;
}

WorkloadLabels WorkloadNaming::labels_of(const ClientProcess& process, const Directory& proc) {
  std::string exe;
  if (needs_exe()) exe = proc.read_link(std::to_string(process.pid) + "/exe").value_or(std::string());
  const auto ancestors = needs_ancestors() ? ancestors_of(process.pid, proc) : std::vector<std::string>();
  return labels_of({process, exe, ancestors});
}

std::optional<Parts> match_pattern(std::string_view pattern, std::string_view text) {
  Parts parts;
  std::size_t at = 0;    // in pattern
  std::size_t here = 0;  // in text
  // The last "*": where the pattern continues after it, which part it is, and where that part began.
  std::optional<std::size_t> behind_star;
  std::size_t star_part = 0;
  std::size_t star_begin = 0;
  for (;;) {
    if (at < pattern.size()) {
      const Piece piece = piece_at(pattern, at);
      if (piece.special && piece.c == '*') {
        behind_star = at = piece.next;
        star_part = parts.size();
        star_begin = here;
        parts.push_back(text.substr(here, 0));
        continue;
      }
      if (here < text.size() && (piece.special || piece.c == text[here])) {
        if (piece.special) parts.push_back(text.substr(here, 1));
        at = piece.next;
        ++here;
        continue;
      }
    } else if (here == text.size()) {
      return parts;
    }
    if (!behind_star) return std::nullopt;
    // It takes one character more, and what came behind it is tried again.
    const std::size_t length = parts[star_part].size() + 1;
    if (star_begin + length > text.size()) return std::nullopt;
    parts.resize(star_part + 1);
    parts[star_part] = text.substr(star_begin, length);
    here = star_begin + length;
    at = *behind_star;
  }
}

std::string error_in(const WorkloadRule& rule) {
  if (rule.name.empty()) return "name is missing";
  bool asks = false;
  for (const WorkloadRuleField& field : kFields) {
    for (const std::string& pattern : rule.*field.patterns) {
      asks = true;
      if (pattern.empty()) return std::string(field.name) + ": an empty pattern matches nothing";
    }
  }
  if (!asks) return "match is missing; one that takes everybody is comm: \"*\"";
  std::string_view rest = rule.name;
  while (!rest.empty()) {
    const auto token = take_token(rest);
    if (!token) return "name: braces that do not fit together; a brace itself is written twice";
    if (std::string error = error_in_token(rule, *token); !error.empty()) return error;
  }
  return {};
}

std::optional<std::string> name_by(const WorkloadRule& rule, const RuleSubject& subject) {
  std::array<Match, kFields.size()> matches;
  const std::array<std::string_view, kAncestor> texts{subject.comm, subject.exe, subject.cgroup, subject.user};
  for (std::size_t i = 0; i < kAncestor; ++i) {
    auto match = match_any(rule.*kFields[i].patterns, texts[i]);
    if (!match) return std::nullopt;
    matches[i] = *std::move(match);
  }
  if (!rule.ancestor.empty()) {
    std::optional<Match> match;
    for (std::size_t i = 0; i < subject.ancestors.size() && !match; ++i)
      match = match_any(rule.ancestor, subject.ancestors[i]);
    if (!match) return std::nullopt;
    matches[kAncestor] = *std::move(match);
  }
  std::string name;
  std::string_view rest = rule.name;
  while (!rest.empty()) {
    const auto token = take_token(rest);
    if (!token) return std::nullopt;
    if (!token->is_field) {
      name += token->literal;
      continue;
    }
    const std::size_t index = index_of(token->field);
    if (index == kFields.size()) return std::nullopt;
    if (!token->numbered) {
      name += matches[index].text;
      continue;
    }
    const auto number = scan_integer<std::size_t>(token->number);
    if (!number || *number == 0 || *number > matches[index].parts.size()) return std::nullopt;
    name += matches[index].parts[*number - 1];
  }
  return name;
}

}  // namespace igpu
