// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "text/formatted.h"
#include "text/unicode.h"
#include "trace/job_report.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kTimelineNameWidth = 24;
constexpr std::size_t kBesideCells = kTimelineNameWidth + 2;  // the name, and a bar at each end

// One lane of text: for each column, how much of it each kind of work covers.
class Lane {
 public:
  Lane(std::size_t width, double from, double to) : from_(from), column_((to - from) / static_cast<double>(width)) {
    covered_.resize(width);
  }
  void add(double begin, double end, bool runs) {
    begin = std::max(begin, from_);
    const double last = from_ + column_ * static_cast<double>(covered_.size());
    end = std::min(end, last);
    if (end <= begin) return;
    auto column = static_cast<std::size_t>((begin - from_) / column_);
    for (; column < covered_.size(); ++column) {
      const double left = from_ + column_ * static_cast<double>(column);
      if (left >= end) break;
      const double part = (std::min(end, left + column_) - std::max(begin, left)) / column_;
      (runs ? covered_[column].run : covered_[column].wait) += part;
    }
  }
  std::string text(char runs, char partly, char waits) const {
    std::string line;
    for (const Cell& cell : covered_)
      line += cell.run >= 0.5 ? runs : cell.run > 0 ? partly : cell.wait > 0 ? waits : ' ';
    return line;
  }

 private:
  struct Cell {
    double run = 0, wait = 0;
  };
  double from_, column_;
  std::vector<Cell> covered_;
};

std::string line(const std::string& name, const std::string& cells) {
  return padded(cut_to_cells(name, kTimelineNameWidth - 1), kTimelineNameWidth) + "|" + cells + "|\n";
}

}  // namespace

std::string timeline(const TraceFile& file, const TraceArguments& arguments) {
  const auto seconds = [&](std::uint64_t ns) { return static_cast<double>(ns - std::min(ns, file.first_ns)) / 1e9; };
  const double all = seconds(file.last_ns);
  const double from = arguments.from_seconds.value_or(0);
  double to = arguments.to_seconds.value_or(all);
  if (to <= from) to = from + 1e-3;
  const std::size_t columns = arguments.width - kBesideCells;
  std::map<std::string, Lane> engines, threads;
  const auto lane = [&](std::map<std::string, Lane>& lanes, const std::string& name) -> Lane& {
    return lanes.try_emplace(name, columns, from, to).first->second;
  };
  for (const Job& job : file.jobs) {
    Lane& engine = lane(engines, ring_of(job));
    const double submitted = seconds(job.submit_ns);
    const double start = job.start_ns != 0 ? seconds(job.start_ns) : all;
    engine.add(submitted, start, false);
    if (job.start_ns != 0 && (job.ended() || job.outcome == JobOutcome::unfinished))
      engine.add(start, job.ended() ? seconds(job.end_ns) : all, true);
  }
  std::map<std::uint32_t, std::string> names;
  for (const Job& job : file.jobs) names.try_emplace(job.tid, clean_text(job.comm.view()));
  const auto thread = [&](std::uint32_t tid) {
    const auto known = names.find(tid);
    return (known == names.end() || known->second.empty() ? "thread" : known->second) + " " + std::to_string(tid);
  };
  for (const IoctlCall& call : file.calls)
    lane(threads, thread(call.tid)).add(seconds(call.begin_ns), seconds(call.end_ns), true);
  for (const FenceWait& wait : file.waits)
    lane(threads, thread(wait.tid)).add(seconds(wait.begin_ns), seconds(wait.end_ns), false);
  std::string text =
      formatted("%.6f s to %.6f s, %.3f ms a column\n", from, to, (to - from) * 1e3 / static_cast<double>(columns));
  text += "engines: # runs, + runs partly, . a job waits\n";
  for (const auto& [name, cells] : engines) text += line(name, cells.text('#', '+', '.'));
  if (!threads.empty()) text += "threads: i in an ioctl, w waits for a fence\n";
  for (const auto& [name, cells] : threads) text += line(name, cells.text('i', 'i', 'w'));
  return text;
}

}  // namespace igpu::exporter
