// SPDX-License-Identifier: Apache-2.0
// read_pages FOLDER: what the exporter reads from the tracker's pages, as JSON, to be compared with another reader.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "level_zero/level_zero_pages.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  igpu::LevelZeroPages pages(igpu::open_page_folder(argv[1]));
  const auto snapshot = pages.read();
  if (!snapshot) return 1;
  nlohmann::json out = {{"programs", nlohmann::json::object()}, {"rejected", nlohmann::json::object()}};
  for (const igpu::LevelZeroProgram& program : snapshot->programs) {
    const igpu::LevelZeroPage& page = program.page;
    nlohmann::json& one = out["programs"][program.name];
    one = {{"alive", program.alive},
           {"holder", program.pid},
           {"pid", page.pid},
           {"comm", page.comm},
           {"ended", page.ended_realtime_ns},
           {"invalid_destroys", page.invalid_destroys},
           {"untracked", page.untracked},
           {"resources", nlohmann::json::object()},
           {"calls", nlohmann::json::object()}};
    for (const igpu::LevelZeroKindUse& of : page.resources)
      one["resources"][std::string(of.kind)] = {of.created, of.destroyed, of.live,       of.live_peak,
                                                of.failed,  of.bytes,     of.bytes_peak, of.bytes_allocated};
    for (const igpu::LevelZeroCalls& of : page.calls) one["calls"][std::string(of.function)] = {of.calls, of.errors};
  }
  for (std::size_t i = 0; i < igpu::kPageRejections; ++i)
    if (snapshot->rejected[i] != 0)
      out["rejected"][std::string(to_string(static_cast<igpu::PageRejection>(i)))] = snapshot->rejected[i];
  std::puts(out.dump().c_str());
}
