// SPDX-License-Identifier: Apache-2.0
#include "server/sandbox/thread_status.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace igpu::exporter {
namespace {

std::optional<std::uint64_t> value_of(std::string_view text, std::string_view key, int base) {
  const std::string wanted = "\n" + std::string(key) + ":";
  const std::size_t found = text.find(wanted);
  if (found == std::string_view::npos) return std::nullopt;
  text.remove_prefix(found + wanted.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<ThreadStatus> parse_thread_status(std::string_view text) {
  const auto inheritable = value_of(text, "CapInh", 16);
  const auto permitted = value_of(text, "CapPrm", 16);
  const auto effective = value_of(text, "CapEff", 16);
  const auto bounding = value_of(text, "CapBnd", 16);
  const auto ambient = value_of(text, "CapAmb", 16);
  const auto no_new_privs = value_of(text, "NoNewPrivs", 10);
  const auto seccomp = value_of(text, "Seccomp", 10);
  if (!inheritable || !permitted || !effective || !bounding || !ambient || !no_new_privs || !seccomp)
    return std::nullopt;
  return ThreadStatus{
      *inheritable, *permitted, *effective, *bounding, *ambient, *no_new_privs == 1, static_cast<int>(*seccomp)};
}

std::vector<ThreadStatus> own_threads() {
  std::vector<ThreadStatus> threads;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc/self/task", error), end; !error && entry != end;
       entry.increment(error)) {
    std::ifstream file(entry->path() / "status", std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (text.empty()) continue;  // it has ended
    if (const auto status = parse_thread_status(text)) threads.push_back(*status);
  }
  return threads;
}

}  // namespace igpu::exporter
