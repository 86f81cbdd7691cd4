// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "platform/regular_file.h"
#include "view/stats/stats_writer.h"

namespace igpu::exporter {

StatsOutput::Outcome StatsOutput::write(std::string_view text) {
  if (file_.empty() || text.empty()) return write_stream(text);
  with_path(file_, [&] { NewFile(file_, mode_of_file()).finish(text, NewFile::Existing::is_replaced); });
  return Outcome::goes_on;
}

ProgressLine::~ProgressLine() { end(); }

void ProgressLine::show(std::string_view text) {
  if (!wanted_) return;
  const auto now = std::chrono::steady_clock::now();
  if (!on_terminal_ && now < next_) return;
  next_ = now + std::chrono::seconds(10);
  constexpr std::string_view kEraseToEnd = "\033[K";
  std::fprintf(stderr, "%s%.*s%s", on_terminal_ ? "\r" : "", static_cast<int>(text.size()), text.data(),
               on_terminal_ ? kEraseToEnd.data() : "\n");
  std::fflush(stderr);
  open_ = on_terminal_;
}

void ProgressLine::end() {
  if (open_) std::fputc('\n', stderr);
  open_ = false;
}

}  // namespace igpu::exporter
