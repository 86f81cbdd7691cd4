// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fake/capture/passes.h"
#include "machine/d3dkmt_windows.h"
#include "machine/gpu_adapters.h"
#include "machine/windows_status.h"

namespace igpu::test {

// Answers as a capture of Windows has them (exporter/view/capture_file/script.h), in the form of the kernel. A process
// is asked for by its PID in place of its handle, as replayed processes have it (fake/capture/asked_machine.h).
class RecordedAdapters {
 public:
  explicit RecordedAdapters(std::string_view script);
  void next_scrape() { replay_.begin_pass(); }

  NtStatus list(std::vector<std::uint64_t>& luids);
  NtStatus open(std::uint64_t luid);
  NtStatus describe(std::uint64_t luid, const d3dkmt::QueryAdapterInfo& query);
  NtStatus count(std::uint64_t luid, d3dkmt::QueryStatistics& query);
  PdhStatus engine_counters(std::vector<EngineCounter>& counters);

 private:
  // numbers: of an answer that has them.
  NtStatus ask(const std::string& question, std::size_t count, capture::Answer& answer);
  capture::Replay replay_;
};

// A name of an adapter or an engine, which is UTF-8, without a NUL if it is too long.
void put_name(const std::string& name, char16_t* to, std::size_t size);
template <std::size_t N>
void put_name(const std::string& name, char16_t (&to)[N]) {
  put_name(name, to, N);
}
// nullptr: the caller's room is smaller.
template <class T>
T* data_of(const d3dkmt::QueryAdapterInfo& query) {
  return query.size >= sizeof(T) ? static_cast<T*>(query.data) : nullptr;
}

}  // namespace igpu::test
