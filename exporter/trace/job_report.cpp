// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <numeric>

#include "text/text.h"
#include "trace/trace_file.h"

namespace igpu::exporter {
namespace {

std::string time_text(std::uint64_t ns) {
  const auto value = static_cast<double>(ns);
  if (ns < 1'000'000) return formatted("%.0f us", value / 1e3);
  if (ns < 1'000'000'000) return formatted("%.2f ms", value / 1e6);
  return formatted("%.3f s", value / 1e9);
}

std::string microseconds_text(std::uint64_t ns) { return formatted("%.3f", static_cast<double>(ns) / 1e3); }

// For a cell of CSV. The characters that need quotes are replaced: these are names of rings and processes.
std::string cell(std::string_view text) {
  std::string safe = clean_text(text);
  for (char& c : safe)
    if (c == ',' || c == '"') c = '_';
  return safe;
}

std::string process_of(const Job& job) {
  return (job.comm.empty() ? "pid" : clean_text(job.comm.view())) + " " + std::to_string(job.pid);
}

// The metrics call it the same.
std::string workload_of(const Job& job, const TraceFile& file) {
  const auto known = file.workloads.find(job.pid);
  return known == file.workloads.end() ? "unattributed" : clean_text(known->second);
}

std::string key_text(const JobKey& key) {
  if (key == JobKey{}) return {};
  return std::to_string(key.context) + ":" + std::to_string(key.seqno);
}

std::uint64_t percentile(std::vector<std::uint64_t>& sorted, unsigned percent) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1, sorted.size() * percent / 100)];
}

// Only exact ends: a bound one would show retirement, not the engine.
bool has_run_time(const Job& job) { return job.outcome == JobOutcome::completed; }
// Nor where a bound end is all that is known: when the job before it ended is a bound as well.
bool has_queue_time(const Job& job) {
  if (job.start_ns == 0 || job.outcome == JobOutcome::evicted) return false;
  return job.outcome != JobOutcome::bound || job.handed_over_ns != 0;
}

struct Group {
  std::vector<std::uint64_t> queue, run;
  std::uint64_t jobs = 0, bound = 0, failed = 0, unfinished = 0;
  void add(const Job& job) {
    ++jobs;
    bound += job.outcome == JobOutcome::bound;
    failed += job.outcome == JobOutcome::error;
    unfinished += job.outcome == JobOutcome::unfinished || job.outcome == JobOutcome::evicted;
    if (has_queue_time(job)) queue.push_back(job.queue_ns());
    if (has_run_time(job)) run.push_back(job.run_ns());
  }
};

constexpr std::size_t kReportNameWidth = 34, kWidth = 12;

std::string table(std::map<std::string, Group>& groups, std::string_view title) {
  std::size_t name_width = kReportNameWidth;
  for (const auto& [name, group] : groups)
    name_width = std::max(name_width, static_cast<std::size_t>(cell_width(name)) + 2);
  std::string text = padded(title, name_width);
  for (const char* const column :
       {"jobs", "queue p50", "queue p95", "queue max", "run p50", "run p95", "run max", "bound", "errors", "no end"})
    text += padded(column, kWidth);
  text += '\n';
  std::vector<std::pair<const std::string*, Group*>> rows;
  rows.reserve(groups.size());
  for (auto& [name, group] : groups) rows.emplace_back(&name, &group);
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.second->jobs > b.second->jobs; });
  for (const auto& [name, group] : rows) {
    std::ranges::sort(group->queue);
    std::ranges::sort(group->run);
    text += padded(*name, name_width) + padded(std::to_string(group->jobs), kWidth);
    for (auto* const times : {&group->queue, &group->run})
      for (const unsigned percent : {50U, 95U, 100U})
        text += padded(times->empty() ? "-" : time_text(percentile(*times, percent)), kWidth);
    text += padded(std::to_string(group->bound), kWidth) + padded(std::to_string(group->failed), kWidth) +
            std::to_string(group->unfinished) + '\n';
  }
  return text;
}

std::string decimal(double value) { return formatted("%.6g", value); }

bool is_flight(const TraceFile& file) { return !file.has_counts && !(file.counters.empty() && file.marks.empty()); }

// What happened, who was there, and the range of each series.
std::string flight_overview(const TraceFile& file) {
  constexpr std::size_t kCell = 14;
  std::string text;
  for (const std::string& mark : file.marks) text += "event: " + clean_text(mark) + "\n";
  for (const std::string& client : file.clients) text += "client: " + clean_text(client) + "\n";
  std::size_t name_width = 8;
  for (const auto& [track, counter] : file.counters) name_width = std::max(name_width, counter.name.size() + 2);
  text += "\n" + padded("series", name_width);
  for (const char* const head : {"samples", "min", "mean", "max", "last"}) text += padded(head, kCell);
  text += "unit\n";
  for (const auto& [track, counter] : file.counters) {
    const std::vector<double>& values = counter.values;
    text += padded(clean_text(counter.name), name_width) + padded(std::to_string(values.size()), kCell);
    if (values.empty()) {
      for (int i = 0; i < 4; ++i) text += padded("-", kCell);
    } else {
      const auto [least, most] = std::minmax_element(values.begin(), values.end());
      const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
      for (const double value : {*least, mean, *most, values.back()}) text += padded(decimal(value), kCell);
    }
    text += clean_text(counter.unit) + "\n";
  }
  return text;
}

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

std::string ring_of(const Job& job) {
  std::string name = clean_text(job.device.view());
  if (!name.empty()) name += ' ';
  return name + clean_text(job.ring.empty() ? to_string(job.source) : job.ring.view());
}

std::string_view blocker(const Job& job) {
  if (job.outcome == JobOutcome::error) return "reset or error";
  if (!job.ended() && job.outcome == JobOutcome::unfinished) return job.start_ns != 0 ? "did not end" : "did not start";
  if (job.preempted) return "preempted";
  const bool queue = job.queue_ns() >= job.run_ns();
  if (queue && job.hold == JobHold::dependency) return "waits for a dependency";
  if (queue && job.hold == JobHold::other_context) return "waits on another context";
  return queue ? "long queue" : "slow run";
}

std::string trace_summary(const TraceFile& file) {
  if (!file.has_counts)
    return "events unknown: the recording did not write its counts\n" + std::to_string(file.jobs.size()) + " jobs\n";
  const JobRecorderCounts& counts = file.counts;
  std::string text = std::to_string(counts.events) + " events, " + std::to_string(file.jobs.size()) + " jobs, " +
                     std::to_string(counts.lost) + " events lost, " + std::to_string(counts.unmatched) + " unmatched\n";
  const auto also = [&](std::uint64_t count, const char* what) {
    if (count != 0) text += std::to_string(count) + " " + what + "\n";
  };
  also(counts.filtered, "jobs left out by filters");
  also(counts.not_sampled, "jobs left out by --sample");
  also(counts.rate_limited, "jobs left out by --max-rate");
  also(counts.evicted, "jobs whose end was lost, or that left the table");
  also(counts.unknown, "events of unknown kinds");
  also(counts.damaged, "rings that could not be read to their end");
  if (!file.ended) text += "the recording did not end by itself: the counts are those of its last second\n";
  return text;
}

std::string trace_overview(const TraceFile& file) {
  if (is_flight(file)) return flight_overview(file);
  std::string text = trace_summary(file);
  std::map<JobOutcome, std::uint64_t> outcomes;
  for (const Job& job : file.jobs) ++outcomes[job.outcome];
  for (const auto& [outcome, count] : outcomes)
    text += padded(std::string(to_string(outcome)), 16) + std::to_string(count) + "\n";
  if (!file.jobs.empty()) text += "\n" + jobs_by(file, "engine") + "\n" + jobs_by(file, "process");
  return text;
}

std::string jobs_csv(const TraceFile& file) {
  std::string text =
      "key,source,device,ring,class,instance,context,client,pid,tid,comm,submit_ns,handed_over_ns,start_ns,end_ns,end,"
      "queue_us,run_us,total_us,dependency_us,held_by,held_by_key,outcome,error,preempted\n";
  const auto time = [](std::uint64_t ns) { return ns == 0 ? std::string() : std::to_string(ns); };
  for (const Job& job : file.jobs) {
    const std::string end = !job.ended() ? "" : job.outcome == JobOutcome::bound ? "by" : "exact";
    for (const std::string& part : {key_text(job.key),
                                    std::string(to_string(job.source)),
                                    cell(job.device.view()),
                                    cell(job.ring.view()),
                                    std::string(to_string(job.engine_class)),
                                    job.instance < 0 ? std::string() : std::to_string(job.instance),
                                    std::to_string(job.context),
                                    job.client == 0 ? std::string() : std::to_string(job.client),
                                    std::to_string(job.pid),
                                    std::to_string(job.tid),
                                    cell(job.comm.view()),
                                    time(job.submit_ns),
                                    time(job.handed_over_ns),
                                    time(job.start_ns),
                                    time(job.end_ns),
                                    end,
                                    job.start_ns == 0 ? std::string() : microseconds_text(job.queue_ns()),
                                    job.ended() ? microseconds_text(job.run_ns()) : std::string(),
                                    job.ended() ? microseconds_text(job.total_ns()) : std::string(),
                                    microseconds_text(job.dependency_ns),
                                    std::string(to_string(job.hold)),
                                    key_text(job.held_by),
                                    std::string(to_string(job.outcome)),
                                    job.error == 0 ? std::string() : std::to_string(job.error)})
      text += part + ',';
    text += job.preempted ? "1\n" : "0\n";
  }
  return text;
}

std::string top_jobs(const TraceFile& file, std::size_t count) {
  const auto took = [&](const Job& job) {
    if (job.ended()) return job.total_ns();
    return job.outcome == JobOutcome::unfinished && file.last_ns > job.submit_ns ? file.last_ns - job.submit_ns
                                                                                 : std::uint64_t{0};
  };
  std::vector<const Job*> jobs;
  for (const Job& job : file.jobs) jobs.push_back(&job);
  std::ranges::stable_sort(jobs, [&](const Job* a, const Job* b) { return took(*a) > took(*b); });
  if (jobs.size() > count) jobs.resize(count);
  std::string text = padded("submitted", 14) + padded("took", 12) + padded("queue", 12) + padded("run", 12) +
                     padded("engine", 22) + padded("process", 24) + padded("why", 26) + "held by\n";
  for (const Job* const job : jobs) {
    text += padded(time_text(job->submit_ns - std::min(file.first_ns, job->submit_ns)), 14) +
            padded(time_text(took(*job)), 12) + padded(job->start_ns == 0 ? "-" : time_text(job->queue_ns()), 12) +
            padded(job->ended() ? time_text(job->run_ns()) : "-", 12) + padded(ring_of(*job), 22) +
            padded(process_of(*job), 24) + padded(blocker(*job), 26);
    const auto holder = std::ranges::find_if(
        file.jobs, [&](const Job& other) { return other.key == job->held_by && other.submit_ns <= job->start_ns; });
    if (job->held_by == JobKey{})
      text += "-";
    else
      text += holder == file.jobs.end() ? key_text(job->held_by) : process_of(*holder) + " on " + ring_of(*holder);
    text += '\n';
  }
  return text;
}

std::string job_histogram(const TraceFile& file, TraceArguments::Histogram which) {
  std::array<std::uint64_t, kJobBuckets> buckets{};
  std::uint64_t most = 1;
  for (const Job& job : file.jobs) {
    using enum TraceArguments::Histogram;
    if (which == queue ? !has_queue_time(job) : !has_run_time(job)) continue;
    const std::uint64_t time = which == queue ? job.queue_ns() : which == run ? job.run_ns() : job.total_ns();
    most = std::max(most, ++buckets[job_bucket(time)]);
  }
  std::string text = padded("up to", 14) + padded("jobs", 10) + "\n";
  for (std::size_t i = 0; i < kJobBuckets; ++i) {
    const bool last = i + 1 == kJobBuckets;
    text += padded(last ? "more" : time_text(std::uint64_t{16'000} << i), 14) + padded(std::to_string(buckets[i]), 10) +
            std::string(static_cast<std::size_t>(buckets[i] * 50 / most), '#') + "\n";
  }
  return text;
}

std::string jobs_by(const TraceFile& file, std::string_view what) {
  std::map<std::string, Group> groups;
  for (const Job& job : file.jobs) {
    if (what == "process")
      groups[process_of(job)].add(job);
    else if (what == "workload")
      groups[workload_of(job, file)].add(job);
    else if (what == "context")
      groups[ring_of(job) + " " + std::to_string(job.context)].add(job);
    else  // xe names a queue, not an engine
      groups[job.source == JobSource::drm_sched && job.engine_class != JobClass::other
                 ? (job.device.empty() ? "" : clean_text(job.device.view()) + " ") +
                       std::string(to_string(job.engine_class))
                 : ring_of(job)]
          .add(job);
  }
  return table(groups, what);
}

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
