// SPDX-License-Identifier: Apache-2.0
#include "igpu/level_zero.h"
#include "level_zero/level_zero_pages.h"
#include "level_zero/level_zero_sites.h"

namespace igpu {
namespace {

LevelZeroProcess described(const LevelZeroPage& page) {
  LevelZeroProcess process;
  process.comm = page.comm;
  process.executable = page.executable;
  process.pid = page.pid;
  process.exited = page.ended_realtime_ns != 0;
  process.started_realtime_ns = page.started_realtime_ns;
  process.ended_realtime_ns = page.ended_realtime_ns;
  process.invalid_destroys = page.invalid_destroys;
  process.untracked = page.untracked;
  for (const LevelZeroCalls& calls : page.calls) {
    process.calls += calls.calls;
    process.errors += calls.errors;
  }
  for (const LevelZeroResources& of : page.resources)
    process.kinds.push_back({of.kind, of.created, of.destroyed, of.live, of.live_peak, of.failed, of.bytes,
                             of.bytes_peak, of.bytes_allocated});
  return process;
}

}  // namespace

std::optional<LevelZeroProcess> describe_level_zero_page(std::span<const std::byte> file) {
  const auto parsed = parse_level_zero_page(file, file.size());
  const auto* page = std::get_if<LevelZeroPage>(&parsed);
  if (page == nullptr) return std::nullopt;
  LevelZeroProcess process = described(*page);
  process.live = live_level_zero_sites(file);
  return process;
}

Reading<LevelZeroFolder> read_level_zero_folder(const std::string& path) {
  LevelZeroPages pages(open_page_folder(path));
  auto snapshot = pages.read();
  if (!snapshot) return snapshot.propagate<LevelZeroFolder>();
  LevelZeroFolder folder;
  for (const std::uint64_t rejected : snapshot->rejected) folder.rejected += rejected;
  for (const LevelZeroProgram& program : snapshot->programs) {
    LevelZeroProcess& process = folder.processes.emplace_back(described(program.page));
    process.file = program.name;
    process.alive = program.alive;
    if (program.alive) process.exited = false;
    if (program.pid > 0) process.pid = program.pid;
  }
  return folder;
}

}  // namespace igpu
