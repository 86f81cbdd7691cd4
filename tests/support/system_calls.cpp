// SPDX-License-Identifier: Apache-2.0
#include "support/system_calls.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <stdexcept>

namespace igpu::test {
namespace {

constexpr std::string_view kPerfEvent = "anon_inode:[perf_event]";

std::array<char, 1 << 20> buffer;

int number_at(std::string_view text) {
  int value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "5</dev/shm/x>" -> 5 and "/dev/shm/x".
struct Descriptor {
  int number;
  std::string description;
};
Descriptor descriptor(std::string_view text) {
  const std::size_t open = text.find('<');
  const std::size_t close = text.rfind('>');
  if (open == std::string_view::npos || close == std::string_view::npos) return {number_at(text), {}};
  return {number_at(text), std::string(text.substr(open + 1, close - open - 1))};
}

// The arguments between the outer parentheses, split at commas outside of quotes, braces and angle brackets.
std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> arguments(1);
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) {
      arguments.back() += c;
      arguments.back() += text[++i];
      continue;
    }
    if (c == '"') quoted = !quoted;
    if (!quoted) {
      if (c == '{' || c == '[' || c == '<' || c == '(') ++depth;
      if (c == '}' || c == ']' || c == '>' || c == ')') --depth;
      if (c == ',' && depth == 0) {
        arguments.emplace_back();
        continue;
      }
      if (c == ' ' && arguments.back().empty()) continue;
    }
    arguments.back() += c;
  }
  return arguments;
}

std::string unquoted(std::string_view text) {
  if (text.size() < 2 || text.front() != '"') return {};
  return std::string(text.substr(1, text.rfind('"') - 1));
}

int open_flags(std::string_view text) {
  int flags = O_CLOEXEC;
  if (text.find("O_DIRECTORY") != std::string_view::npos) flags |= O_DIRECTORY;
  if (text.find("O_PATH") != std::string_view::npos) flags |= O_PATH;
  if (text.find("O_NOCTTY") != std::string_view::npos) flags |= O_NOCTTY;
  return flags;
}

int open_counter(int leader) {
  perf_event_attr attribute{};
  attribute.size = sizeof(attribute);
  attribute.type = PERF_TYPE_SOFTWARE;
  attribute.config = PERF_COUNT_SW_DUMMY;
  attribute.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(::syscall(SYS_perf_event_open, &attribute, -1, 0, leader, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

struct SystemCalls::Call {
  enum class What { pread, read, open, close, entries, link, stat_at, capabilities, user } what;
  std::size_t slot = 0;    // the descriptor that is used, or made by open
  std::size_t folder = 0;  // of open, link, stat_at; kCurrent: AT_FDCWD
  std::string path;
  std::size_t size = 0;
  int flags = 0;

  static constexpr std::size_t kCurrent = static_cast<std::size_t>(-1);
};

struct SystemCalls::Kept {
  std::size_t slot;
  std::string description;
  std::size_t read_size;
};

void SystemCalls::mark(std::string_view text) {
  // Fails, and is seen by strace.
  if (::write(-1, text.data(), text.size()) >= 0) throw std::logic_error("mark");
}

SystemCalls::SystemCalls(std::string_view log, std::string_view begin_mark, std::string_view end_mark) {
  bool inside = false, ended = false;
  std::map<std::string, std::string, std::less<>> unfinished;  // by thread
  while (!log.empty() && !ended) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    std::string line(log.substr(0, end));
    log.remove_prefix(std::min(end + 1, log.size()));
    const std::size_t blank = line.find(' ');
    if (blank == std::string::npos) continue;
    const std::string thread = line.substr(0, blank);
    std::string call = line.substr(line.find_first_not_of(' ', blank));
    if (const std::size_t at = call.find(" <unfinished ...>"); at != std::string::npos) {
      unfinished[thread] = call.substr(0, at);
      continue;
    }
    if (call.starts_with("<... ")) {
      const std::size_t at = call.find(" resumed>");
      if (at == std::string::npos) continue;
      call = unfinished[thread] + call.substr(at + 9);
    }
    if (call.find(begin_mark) != std::string::npos) {
      inside = true;
    } else if (call.find(end_mark) != std::string::npos) {
      ended = inside;
    } else if (inside) {
      parse(call);
    }
  }
  if (!ended) throw std::runtime_error("the trace holds no stretch between the marks");
}

SystemCalls::~SystemCalls() = default;
SystemCalls::SystemCalls(SystemCalls&&) noexcept = default;

std::size_t SystemCalls::replayed() const { return calls_.size(); }

std::size_t SystemCalls::slot_of_kept(std::string_view description, std::size_t read_size) {
  if (const auto it = kept_slots_.find(description); it != kept_slots_.end()) return it->second;
  const std::size_t slot = slots_.size();
  slots_.emplace_back();
  kept_.push_back({slot, std::string(description), read_size});
  kept_slots_.emplace(description, slot);
  return slot;
}

void SystemCalls::parse(const std::string& line) {
  const std::size_t open = line.find('(');
  const std::size_t close = line.rfind(") = ") != std::string::npos ? line.rfind(") = ") : line.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return;  // a signal, an exit
  const std::string name = line.substr(0, open);
  const std::vector<std::string> arguments = split_arguments(std::string_view(line).substr(open + 1, close - open - 1));
  const std::size_t equals = line.find("= ", close);
  const std::string result = equals == std::string::npos ? std::string() : line.substr(equals + 2);
  ++counts_[name];
  lines_.push_back(line);

  const auto slot_of = [&](const std::string& argument, std::size_t read_size = 0) -> std::optional<std::size_t> {
    if (argument.starts_with("AT_FDCWD")) return Call::kCurrent;
    const Descriptor d = descriptor(argument);
    if (const auto it = open_slots_.find(d.number); it != open_slots_.end()) return it->second;
    if (!d.description.starts_with('/') && d.description != kPerfEvent) return std::nullopt;
    const bool group = d.description == kPerfEvent;
    return slot_of_kept(group ? d.description + std::to_string(d.number) : d.description, group ? read_size : 0);
  };

  Call call{};
  std::optional<std::size_t> slot;
  if (name == "pread64" && arguments.size() == 4) {
    call.what = Call::What::pread;
    call.size = static_cast<std::size_t>(number_at(arguments[2]));
    slot = slot_of(arguments[0]);
  } else if (name == "read" && arguments.size() == 3) {
    call.what = Call::What::read;
    call.size = static_cast<std::size_t>(number_at(arguments[2]));
    slot = slot_of(arguments[0], static_cast<std::size_t>(std::max(number_at(result), 0)));
  } else if (name == "openat" && arguments.size() >= 3) {
    call.what = Call::What::open;
    call.path = unquoted(arguments[1]);
    call.flags = open_flags(arguments[2]);
    const auto folder = slot_of(arguments[0]);
    if (folder) {
      call.folder = *folder;
      slot = slots_.size();
      slots_.emplace_back();
      if (number_at(result) >= 0) open_slots_[number_at(result)] = *slot;
    }
  } else if (name == "close" && arguments.size() == 1) {
    call.what = Call::What::close;
    const int number = descriptor(arguments[0]).number;
    if (const auto it = open_slots_.find(number); it != open_slots_.end()) {
      slot = it->second;
      open_slots_.erase(it);
    }
  } else if (name == "getdents64" && arguments.size() == 3) {
    call.what = Call::What::entries;
    call.size = static_cast<std::size_t>(number_at(arguments[2]));
    slot = slot_of(arguments[0]);
  } else if ((name == "readlinkat" || name == "newfstatat") && arguments.size() == 4) {
    call.what = name == "readlinkat" ? Call::What::link : Call::What::stat_at;
    call.path = unquoted(arguments[1]);
    slot = slot_of(arguments[0]);
    if (slot) call.folder = *slot;
  } else if (name == "capget") {
    call.what = Call::What::capabilities;
    slot = 0;
  } else if (name == "geteuid" || name == "getuid") {
    call.what = Call::What::user;
    slot = 0;
  }
  if (!slot) {
    ++skipped_[name];
    return;
  }
  call.slot = *slot;
  calls_.push_back(std::move(call));
}

void SystemCalls::prepare() {
  for (const Kept& kept : kept_) {
    if (!kept.description.starts_with(kPerfEvent)) {
      slots_[kept.slot].reset(::open(kept.description.c_str(), O_RDONLY | O_CLOEXEC));
      continue;
    }
    // A group of the same size: a count, two times, then one word each.
    slots_[kept.slot].reset(open_counter(-1));
    for (std::size_t words = kept.read_size / 8; words > 4; --words) {
      counters_.emplace_back(open_counter(slots_[kept.slot].get()));
    }
  }
}

void SystemCalls::replay() {
  const auto folder = [this](const Call& call) {
    return call.folder == Call::kCurrent ? AT_FDCWD : slots_[call.folder].get();
  };
  for (const Call& call : calls_) {
    const std::size_t size = std::min(call.size, buffer.size());
    [[maybe_unused]] long ignored = 0;
    switch (call.what) {
      case Call::What::pread: ignored = ::pread(slots_[call.slot].get(), buffer.data(), size, 0); break;
      case Call::What::read: ignored = ::read(slots_[call.slot].get(), buffer.data(), size); break;
      case Call::What::open: slots_[call.slot].reset(::openat(folder(call), call.path.c_str(), call.flags)); break;
      case Call::What::close: slots_[call.slot].reset(); break;
      case Call::What::entries:
        ignored = ::syscall(SYS_getdents64, slots_[call.slot].get(), buffer.data(), size);
        break;
      case Call::What::link: ignored = ::readlinkat(folder(call), call.path.c_str(), buffer.data(), 4096); break;
      case Call::What::stat_at: {
        struct stat facts;
        ignored = ::fstatat(folder(call), call.path.c_str(), &facts, call.path.empty() ? AT_EMPTY_PATH : 0);
        break;
      }
      case Call::What::capabilities: {
        __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
        __user_cap_data_struct data[2];
        ignored = ::syscall(SYS_capget, &header, data);
        break;
      }
      case Call::What::user: ignored = ::geteuid(); break;
    }
  }
}

}  // namespace igpu::test
