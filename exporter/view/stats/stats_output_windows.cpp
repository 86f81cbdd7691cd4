// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <io.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "platform/windows_headers.h"
#include "view/stats/stats_writer.h"

namespace igpu::exporter {
namespace {

HANDLE output() { return ::GetStdHandle(STD_OUTPUT_HANDLE); }

bool is_gone(DWORD error) { return error == ERROR_BROKEN_PIPE || error == ERROR_NO_DATA; }

}  // namespace

StatsOutput::StatsOutput(bool handles_signals, std::string file)
    : descriptor_(file.empty() ? ::_fileno(stdout) : -1), file_(std::move(file)) {
  if (handles_signals) signals_.emplace();
  to_file_ = file_.empty() && ::GetFileType(output()) == FILE_TYPE_DISK;
}

StatsOutput::StatsOutput(const Manner& manner) : StatsOutput(true) { descriptor_ = manner.descriptor; }

mode_t StatsOutput::mode_of_file() const { return new_mode_; }

StatsOutput::Outcome StatsOutput::write_stream(std::string_view text) {
  while (!text.empty()) {
    constexpr std::size_t kAtOnce = 1U << 20;
    DWORD written = 0;
    if (!::WriteFile(output(), text.data(), static_cast<DWORD>(std::min(text.size(), kAtOnce)), &written, nullptr)) {
      const DWORD error = ::GetLastError();
      if (is_gone(error)) return Outcome::reader_gone;
      throw std::runtime_error("standard output: " + windows_error_text(error));
    }
    text.remove_prefix(written);
  }
  return Outcome::goes_on;
}

// That the reader has closed a pipe shows at the next write: Windows has no event for it.
StatsOutput::Outcome StatsOutput::wait_until(std::chrono::steady_clock::time_point time) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(time - std::chrono::steady_clock::now());
  const auto wait = static_cast<DWORD>(std::clamp<std::int64_t>(left.count(), 0, INFINITE - 1));
  if (!signals_) {
    ::Sleep(wait);
    return Outcome::goes_on;
  }
  return ::WaitForSingleObject(termination_event(), wait) == WAIT_OBJECT_0 ? Outcome::interrupted : Outcome::goes_on;
}

// The console may not know the sequence that erases a line.
ProgressLine::ProgressLine(bool wanted) : wanted_(wanted), on_terminal_(false) {}

}  // namespace igpu::exporter
