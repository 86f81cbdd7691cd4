// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/unique_fd.h"

namespace igpu::test {

// The system calls between two marks of a program, as `strace -f -y -s 64` has written them down, and the same calls
// made bare: what a scrape costs if the program around it costs nothing.
class SystemCalls {
 public:
  // The traced program sets a mark with mark(). Throws std::runtime_error if the log has no such stretch.
  SystemCalls(std::string_view log, std::string_view begin_mark, std::string_view end_mark);
  ~SystemCalls();
  SystemCalls(SystemCalls&&) noexcept;

  static void mark(std::string_view text);

  const std::map<std::string, std::size_t>& counts() const { return counts_; }         // by name
  const std::map<std::string, std::size_t>& not_replayed() const { return skipped_; }  // thread hand-over and the like
  const std::vector<std::string>& lines() const { return lines_; }                     // as traced
  std::size_t replayed() const;

  // Opens what the program had kept open; once.
  void prepare();
  // Makes the calls.
  void replay();

 private:
  struct Call;

  void parse(const std::string& line);
  std::size_t slot_of_kept(std::string_view description, std::size_t read_size);

  std::map<std::string, std::size_t> counts_;
  std::map<std::string, std::size_t> skipped_;
  std::vector<std::string> lines_;
  std::vector<Call> calls_;
  std::vector<UniqueFd> slots_;
  struct Kept;
  std::vector<Kept> kept_;
  std::map<std::string, std::size_t, std::less<>> kept_slots_;  // by description
  std::map<int, std::size_t> open_slots_;                       // descriptors opened within the stretch
  std::vector<UniqueFd> counters_;                              // members of perf groups
};

}  // namespace igpu::test
