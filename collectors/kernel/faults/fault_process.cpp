// SPDX-License-Identifier: Apache-2.0
#include "kernel/faults/fault_process.h"

#include <array>
#include <string>
#include <utility>

#include "base/scan.h"
#include "kernel/clients/process.h"

namespace igpu {
namespace {

std::string name_of(const Directory& proc, std::uint32_t id) {
  std::array<char, 2048> buffer;
  const auto text = proc.read_start(std::to_string(id) + "/stat", buffer);
  const auto stat = text ? parse_process_stat(*text) : std::nullopt;
  return stat ? std::string(stat->comm) : std::string();
}

std::uint32_t process_of_thread(const Directory& proc, std::uint32_t thread) {
  std::array<char, 1024> buffer;  // the line comes early
  const auto text = proc.read_start(std::to_string(thread) + "/status", buffer);
  std::string_view rest = text ? *text : std::string_view();
  while (!rest.empty()) {
    std::string_view line = take_line(rest);
    if (take_until(line, ':') == "Tgid") return scan_integer<std::uint32_t>(line).value_or(0);
  }
  return 0;
}

}  // namespace

FaultProcess process_of_thread(const Directory& proc, const FaultProcess& thread) {
  if (name_of(proc, thread.pid) != thread.name) return thread;
  const std::uint32_t pid = process_of_thread(proc, thread.pid);
  if (pid == 0 || pid == thread.pid) return thread;
  std::string name = name_of(proc, pid);
  return name.empty() ? thread : FaultProcess{pid, std::move(name)};
}

}  // namespace igpu
