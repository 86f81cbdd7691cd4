// SPDX-License-Identifier: Apache-2.0
#include "fake/capture/masks.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <utility>

#include "base/scan.h"
#include "fake/capture/answers.h"
#include "fake/capture/asked_machine.h"

namespace igpu::capture {
namespace {

// Names of control groups that say nothing about a machine's owner.
constexpr std::string_view kCommonGroups =
    "system.slice|user.slice|init.scope|machine.slice|machine|kubepods|kubepods.slice|burstable|besteffort|guaranteed|"
    "docker|lxc|lxc.payload|lxc.monitor|podman|libpod_parent|libpod|app.slice|session.slice|background.slice|"
    "containerd|..";
// Of a name; the longest that fits counts.
constexpr std::string_view kPrefixes =
    "kubepods-burstable-pod|kubepods-besteffort-pod|kubepods-pod|kubepods-burstable|kubepods-besteffort|cri-containerd-"
    "|docker-|crio-|libpod-conmon-|libpod-|nspawn-|lxc.payload.|lxc.monitor.|machine-|user-runtime-dir@|session-|user-|"
    "pod";
constexpr std::string_view kSuffixes = ".service|.scope|.slice|.socket";

bool is_number(std::string_view text) { return std::ranges::all_of(text, is_digit); }

// A container's id, or a pod's uid with either separator.
bool is_id(std::string_view text) {
  const auto digits = std::ranges::count_if(text, is_lower_hex);
  return digits >= 12 && std::ranges::all_of(text, [](char c) { return is_lower_hex(c) || c == '-' || c == '_'; });
}

}  // namespace

std::string Masks::numbered(std::map<std::string, std::string, std::less<>>& known, std::string_view name,
                            std::string_view stand_in) {
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  std::string mask = std::string(stand_in) + std::to_string(known.size() + 1);
  return known.emplace(std::string(name), std::move(mask)).first->second;
}

std::string Masks::process(std::string_view comm) { return comm.empty() ? "" : numbered(processes_, comm, "process"); }

std::string Masks::user(std::string_view name) {
  return name.empty() || name == "root" || is_number(name) ? std::string(name) : numbered(users_, name, "user");
}

// The n-th id has n in its first digits, so that short forms differ, too. A pod's uid is the same with either
// separator.
std::string Masks::id(std::string_view text) {
  std::string digits(text);
  std::erase_if(digits, [](char c) { return !is_lower_hex(c); });
  std::string number = std::to_string(ids_.emplace(std::move(digits), ids_.size() + 1).first->second);
  number.insert(0, 8 - std::min<std::size_t>(8, number.size()), '0');
  std::string mask(text);
  std::size_t at = 0;
  for (char& c : mask)
    if (is_lower_hex(c)) c = at < number.size() ? number[at++] : '0';
  return mask;
}

std::string Masks::part(std::string_view name) {
  if (any_word(kCommonGroups, [&](std::string_view known) { return known == name; })) return std::string(name);
  std::string_view suffix, prefix;
  (void)any_word(kSuffixes, [&](std::string_view known) {
    if (name.ends_with(known)) suffix = known;
    return !suffix.empty();
  });
  name.remove_suffix(suffix.size());
  std::string_view instance;  // user@1000.service
  if (name.starts_with("user@") && is_number(name.substr(5))) instance = std::exchange(name, {});
  (void)any_word(kPrefixes, [&](std::string_view known) {
    if (known.size() > prefix.size() && name.starts_with(known)) prefix = known;
    return false;
  });
  name.remove_prefix(prefix.size());
  std::string masked(instance);
  masked += prefix;
  if (is_number(name)) {
    masked += name;
  } else {
    masked += is_id(name) ? id(name) : numbered(groups_, name, "name");
  }
  return masked += suffix;
}

std::string Masks::cgroup(std::string_view path) {
  std::string masked;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) masked += part(path.substr(0, end));
    if (end < path.size()) masked += '/';
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return masked;
}

namespace {

constexpr std::string_view kFdinfo = "fdinfo/";

// "1234" and "fdinfo/5" of "proc/1234/fdinfo/5"; empty for what belongs to no process.
struct ProcessPath {
  std::string_view pid, file;
};

ProcessPath process_path(std::string_view about) {
  constexpr std::string_view kRoot = "proc/";
  if (!about.starts_with(kRoot)) return {};
  about.remove_prefix(kRoot.size());
  const std::size_t end = std::min(about.find('/'), about.size());
  const std::string_view pid = about.substr(0, end);
  if (pid.empty() || !is_number(pid)) return {};
  return {pid, about.substr(std::min(end + 1, about.size()))};
}

bool is_drm_node(std::string_view target) {
  return target.starts_with("/dev/dri/") || target.starts_with("/dev/accel/");
}

bool is_client(const Answer& answer) {
  return answer.has_content() && answer.text.find("drm-driver:") != std::string::npos;
}

// The descriptors of GPU clients, by process; a process that did not permit to read them has none.
using Kept = std::map<std::string, std::vector<std::string>, std::less<>>;

Kept kept_processes(const std::vector<Pass>& passes) {
  Kept kept;
  for (const Pass& pass : passes) {
    for (const auto& [key, answer] : pass.answers) {
      const ProcessPath path = process_path(about_of(key));
      if (path.pid.empty()) continue;
      const std::size_t slash = path.file.find('/');
      const bool descriptor = path.file.starts_with("fd/") || path.file.starts_with(kFdinfo);
      if (descriptor && (is_client(answer) || (answer.kind == AnswerKind::link && is_drm_node(answer.text))))
        kept[std::string(path.pid)].emplace_back(path.file.substr(slash + 1));
      if (answer.kind == AnswerKind::absent && answer.reason == Reason::permission) (void)kept[std::string(path.pid)];
    }
  }
  return kept;
}

// On Windows: the PIDs of processes that use an adapter.
std::set<std::string, std::less<>> adapter_users(const std::vector<Pass>& passes) {
  std::set<std::string, std::less<>> users;
  for (const Pass& pass : passes) {
    for (const auto& [key, answer] : pass.answers) {
      const std::string_view about = about_of(key);
      if (is_use(word_of(key)) && answer.kind == AnswerKind::numbers && !is_none(answer))
        users.emplace(about.substr(0, about.find('/')));
    }
  }
  return users;
}

bool is_of_windows(const std::vector<Pass>& passes) {
  return std::ranges::any_of(passes, [](const Pass& pass) { return pass.answers.contains(kAdapterList); });
}

// "1 (comm) S 0 ...": what follows the 24th field, which is the resident memory, holds addresses.
std::string clean_stat(std::string_view text, Masks& masks) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  std::string out(text.substr(0, open + 1));
  out += masks.process(text.substr(open + 1, close - open - 1));
  std::size_t field = 2;
  for (std::size_t at = close; at < text.size();) {
    const std::size_t next = std::min(text.find(' ', at + 1), text.size());
    const std::string_view word = text.substr(at, next - at);
    if (field > 24 && word.size() > 1) {
      out += " 0";
    } else {
      out += word;
    }
    ++field;
    at = next;
  }
  if (!out.ends_with('\n') && text.ends_with('\n')) out += '\n';
  return out;
}

// The only line that collectors read.
std::string clean_status(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.starts_with("Uid:")) return std::string(line) + '\n';
  }
  return {};
}

// "0::/system.slice/..."
std::string clean_cgroup(std::string_view text, Masks& masks) {
  std::string out;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(0, second + 1);
    const std::size_t named = controllers.find("name=");
    out += named == std::string_view::npos || controllers.substr(named) == "name=systemd:"
               ? std::string(controllers)
               : std::string(controllers.substr(0, named)) + "name=other:";
    out += masks.cgroup(line.substr(second + 1));
    out += '\n';
  }
  return out;
}

std::string clean_fdinfo(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const bool known = line.starts_with("drm-") || line.starts_with("pos:") || line.starts_with("flags:") ||
                       line.starts_with("mnt_id:") || line.starts_with("ino:");
    if (!known) continue;
    if (line.starts_with("drm-client-name:")) {
      out += "drm-client-name:\tmasked\n";
    } else {
      (out += line) += '\n';
    }
  }
  return out;
}

std::string without_letters_and_digits(std::string text) {
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) c = '0';
  return text;
}

bool is_serial_number(std::string_view path) {
  const std::string_view name = last_part(path);
  return name.find("serial") != std::string_view::npos || name.find("uuid") != std::string_view::npos ||
         name.find("unique_id") != std::string_view::npos;
}

class Cleaner {
 public:
  Cleaner(const Kept& kept, const std::vector<Pass>& passes, Masks& masks)
      : kept_(kept), users_(adapter_users(passes)), masks_(masks) {}

  // False: the answer is left out.
  bool clean(std::string_view key, Answer& answer) {
    const std::string_view about = about_of(key);
    if (word_of(key) == kProcessFacts) return clean_of_windows(about, answer);
    if (is_use(word_of(key))) return !is_none(answer) || users_.contains(about.substr(0, about.find('/')));
    if (key == "list proc") return keep_names(answer, is_number);
    if (word_of(key) == "user") {
      answer.text = masks_.user(answer.text);
      return true;
    }
    const ProcessPath path = process_path(about);
    if (!path.pid.empty()) return clean_of_process(path, answer);
    if (about.starts_with("proc/")) return about == "proc/self" || about == "proc/self/fd" || about == "proc/stat";
    if (is_left_out(about)) return false;
    if (answer.has_content() && is_serial_number(about)) answer.text = without_letters_and_digits(answer.text);
    return true;
  }

  std::size_t left_out_descriptors() const { return descriptors_; }
  std::size_t left_out_of_windows() const { return without_gpu_; }  // in all passes together

 private:
  template <class F>
  static bool keep_names(Answer& answer, F&& keep) {
    std::erase_if(answer.names, [&](const std::string& name) { return !keep(name); });
    return true;
  }

  // Of a process that uses no GPU, keeps only whether it may be opened.
  bool clean_of_windows(std::string_view pid, Answer& answer) {
    const bool uses = users_.contains(pid);
    answer.text = uses ? masks_.process(answer.text) : std::string();
    if (!uses && !answer.numbers.empty()) std::fill(answer.numbers.begin() + 1, answer.numbers.end(), 0);
    without_gpu_ += uses ? 0 : 1;
    return true;
  }

  bool clean_of_process(const ProcessPath& path, Answer& answer) {
    if (path.pid == "2" && path.file == "comm") {
      if (answer.has_content() && answer.text != "kthreadd\n" && answer.text != "kthreadd")
        answer.text = masks_.process(answer.text.substr(0, answer.text.find('\n'))) + '\n';
      return true;
    }
    const auto process = kept_.find(path.pid);
    if (process == kept_.end()) return false;
    const auto& descriptors = process->second;
    if (descriptors.empty() && answer.has_content()) return false;  // only what was refused is known to matter
    const auto is_kept = [&](std::string_view number) { return contains(descriptors, number); };
    if (path.file == "fd" || path.file == "fdinfo") return keep_names(answer, is_kept);
    for (const std::string_view folder : {std::string_view("fd/"), kFdinfo}) {
      if (!path.file.starts_with(folder)) continue;
      const bool refused = answer.kind == AnswerKind::absent && answer.reason == Reason::permission;
      if (!refused && !is_kept(path.file.substr(folder.size()))) {
        ++descriptors_;
        return false;
      }
      if (answer.kind == AnswerKind::link && !is_drm_node(answer.text)) return false;
      if (answer.has_content()) answer.text = clean_fdinfo(answer.text);
      return true;
    }
    if (!answer.has_content()) return path.file != "exe";
    if (path.file == "stat") {
      answer.text = clean_stat(answer.text, masks_);
    } else if (path.file == "status") {
      answer.text = clean_status(answer.text);
    } else if (path.file == "cgroup") {
      answer.text = clean_cgroup(answer.text, masks_);
    } else {
      return false;
    }
    return true;
  }

  const Kept& kept_;
  const std::set<std::string, std::less<>> users_;
  Masks& masks_;
  std::size_t descriptors_ = 0, without_gpu_ = 0;
};

}  // namespace

std::vector<std::string> clean(std::vector<Pass>& passes, Masks& masks) {
  const Kept kept = kept_processes(passes);
  std::size_t processes = 0;
  for (const Pass& pass : passes) {
    const auto listed = pass.answers.find("list proc");
    if (listed == pass.answers.end()) continue;
    const auto& names = listed->second.names;
    processes = std::max(processes, static_cast<std::size_t>(std::ranges::count_if(
                                        names, [&](auto& name) { return is_number(name) && !kept.contains(name); })));
  }
  const bool of_windows = is_of_windows(passes);
  Cleaner cleaner(kept, passes, masks);
  for (Pass& pass : passes) {
    for (auto entry = pass.answers.begin(); entry != pass.answers.end();)
      entry = cleaner.clean(entry->first, entry->second) ? std::next(entry) : pass.answers.erase(entry);
  }
  if (of_windows) {
    return {"Masked: names of processes.",
            "Kept of a process that uses a GPU: its PID, times and sizes. Of all others: their PIDs, and whether they "
            "may be opened.",
            "Left out: " + std::to_string(cleaner.left_out_of_windows() / passes.size()) +
                " processes that do not use a GPU.",
            "Never read: command lines, environments, paths of programs, files, names of users, the machine's name."};
  }
  return {
      "Masked: names of processes, users, control groups, containers and pods; names that DRM clients gave themselves; "
      "serial numbers and UUIDs.",
      "Kept of a process that uses a GPU: its PID, times and sizes (stat, without addresses), its uid, its masked "
      "control group, and the fdinfo of its DRM descriptors. Of all others: their PIDs.",
      "Left out: " + std::to_string(processes) + " processes that do not use a GPU, and " +
          std::to_string(cleaner.left_out_descriptors()) + " readings of other descriptors, and debugfs.",
      "Never read: command lines, environments, paths of programs, other files, the host's name."};
}

}  // namespace igpu::capture
