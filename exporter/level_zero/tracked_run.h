// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "igpu/level_zero.h"

// Runs a program with the tracker inside.
namespace igpu::exporter {

struct TrackedRun {
  int status = 0;  // as a shell reports it: 128 + N for signal N
  std::vector<LevelZeroProcess> processes;
  std::vector<std::string> logs;  // event logs for the report, in `scratch`
  std::vector<std::string> warnings;
};

// The folder of the layer beside this program: of the build tree or of an installation; "" if there is none.
std::string tracker_folder();

// Copies the tracker into a folder, which is made if it is missing. A program that starts meanwhile finds the old files
// or the new ones. Throws std::runtime_error.
void install_tracker(const std::string& folder);

inline constexpr std::size_t kLargestPage = std::size_t{128} << 20;  // of the tracker

// Temporary files of the run, which the destructor removes.
class ScratchSpace {
 public:
  ScratchSpace();
  ~ScratchSpace();
  ScratchSpace(const ScratchSpace&) = delete;
  ScratchSpace& operator=(const ScratchSpace&) = delete;
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

// folder: where pages go if this user may write there. Throws std::runtime_error.
TrackedRun run_tracked(const LevelZeroArguments& arguments, const std::string& folder, const ScratchSpace& scratch);

}  // namespace igpu::exporter
