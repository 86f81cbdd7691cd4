// SPDX-License-Identifier: Apache-2.0
// Every file that a scrape reads and every call that it makes goes wrong once in every way. What there is to go wrong
// is recorded from real scrapes. After each: the page is complete except for collectors that need what failed, no
// counter steps back, the next scrapes are as before the fault, and the log has one line about it.
//
// Two monitors watch the same simulated machine at the same times; only one of them has the fault.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "fake/simulation/simulation.h"
#include "igpu/monitor.h"
#include "support/exposition_parser.h"
#include "support/fake_clock.h"
#include "support/fault_injector.h"
#include "support/recording_log.h"
#include "support/sanitizers.h"
#include "view/format/text_writer.h"

using namespace igpu;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

using Names = std::set<std::string>;

constexpr Nanoseconds kInterval = 25s;  // some files are read every 20 s
// How long a monitor waits for a read that hangs. Each fault that blocks takes as long; on a busy machine every other
// scrape must be done by then.
constexpr Nanoseconds kCollectorTimeout = 1s;

// Otherwise one of the files that differ by a number only: a minute instead of minutes.
bool whole_matrix() { return std::getenv("IGPU_WHOLE_MATRIX") != nullptr; }

// Which collector a metric belongs to; the registry's own belong to none.
const std::map<std::string, std::string>& owners() {
  static const std::map<std::string, std::string> all = [] {
    std::map<std::string, std::string> map;
    for (const CollectorDescription& collector : describe_collectors())
      for (const MetricDescriptor* metric : collector.metrics) map[std::string(metric->name)] = collector.name;
    return map;
  }();
  return all;
}

struct Page {
  std::map<std::string, double> series;  // name and labels
  std::map<std::string, Names> by_collector;
  std::map<std::string, std::string> types;
  Names failed;  // collectors
};

Page read_page(const ScrapeResult& result) {
  Page page;
  const PageView view(result.lists());
  for (const PageView::Family& family : view.families()) {
    const MetricDescriptor& metric = *family.metric;
    const auto owner = owners().find(std::string(metric.name));
    if (owner == owners().end()) continue;
    for (const PageView::Entry& entry : family.entries) {
      std::string key(metric.name);
      for (std::size_t i = 0; i < metric.label_count; ++i) {
        key += ",";
        key += metric.label_names[i];
        key += "=";
        key += entry.list->label_value(*entry.sample, i);
      }
      if (metric.kind == Kind::counter) page.series[key] = entry.sample->value;
      page.by_collector[owner->second].insert(std::move(key));
    }
  }
  for (const std::string_view collector : result.failed_collectors()) page.failed.emplace(collector);
  return page;
}

// Throws if the page's text is not what a scraper accepts.
void check_text(const ScrapeResult& result) {
  std::string text;
  exporter::write_prometheus_text(PageView(result.lists()), text);
  CHECK_NOTHROW((void)parse_prometheus_text(text));
}

struct Watcher {
  Watcher(Machine machine) : monitor(nullptr) {
    MonitorOptions options;
    options.min_window = 1ms;
    options.collector_timeout = kCollectorTimeout;
    parts = faulty_machine(machine, injector);
    make = [this, options] { monitor = make_monitor(parts, options, log); };
  }
  Page scrape(CollectorSet collectors = {}) {
    return read_page(*monitor->scrape({.collectors = std::move(collectors)}));
  }
  // As scrape(), and its text is read, too: with the matrix's thousands of pages that takes longer than all the rest,
  // so it is kept for the pages that have a fault.
  Page scrape_text() {
    const auto result = monitor->scrape({{}, Nanoseconds::max()});
    check_text(*result);
    return read_page(*result);
  }

  // The read that hung has returned, but its collector may still be on its way to the end of its run.
  bool is_whole_within(std::chrono::seconds seconds) {
    const auto until = std::chrono::steady_clock::now() + seconds;
    while (!scrape().failed.empty()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(1ms);
    }
    return true;
  }

  FaultInjector injector;
  RecordingLog log;
  std::shared_ptr<MachineParts> parts;
  std::function<void()> make;
  std::unique_ptr<Monitor> monitor;
};

struct Pair {
  explicit Pair(std::string_view profile)
      : simulated(SimulatedMachine::create(profile, clock)), good(simulated->machine()), bad(simulated->machine()) {}

  FakeClock clock;
  std::unique_ptr<SimulatedMachine> simulated;
  Watcher good;
  Watcher bad;
};

// Which collectors need an operation: all of them if it happens without any.
std::map<Operation, Names> users_of_operations(Pair& pair) {
  std::map<Operation, Names> users;
  Watcher& watcher = pair.bad;
  watcher.injector.record();
  watcher.scrape(CollectorSet::none());
  const std::vector<Operation> common = watcher.injector.recorded();
  Names all;
  for (const CollectorDescription& collector : describe_collectors()) all.emplace(collector.name);
  for (const std::string& collector : watcher.monitor->enabled_collectors()) {
    pair.clock.advance(kInterval);
    watcher.injector.record();
    watcher.scrape(CollectorSet::only({collector}));
    for (const Operation& operation : watcher.injector.recorded()) users[operation].insert(collector);
  }
  for (const Operation& operation : common) users[operation] = all;
  return users;
}

int complaints(const RecordingLog& log) { return log.count(LogLevel::warn) + log.count(LogLevel::error); }

// How often a GPU was taken up.
int found(const RecordingLog& log) {
  int times = 0;
  for (const RecordingLog::Line& line : log.lines()) times += line.text.starts_with("GPU found");
  return times;
}

std::string last_lines(const RecordingLog& log, int last) {
  std::string text;
  for (const RecordingLog::Line& line : log.lines()) {
    if (line.level == LogLevel::warn || line.level == LogLevel::error) text = line.text + "\n" + text;
  }
  std::size_t end = 0;
  for (int i = 0; i < last && end < text.size(); ++i) end = text.find('\n', end) + 1;
  return text.substr(0, end);
}

void check_no_step_back(const Page& before, const Page& after) {
  for (const auto& [key, value] : after.series) {
    const auto earlier = before.series.find(key);
    if (earlier != before.series.end() && value < earlier->second) FAIL_CHECK(key << " stepped back");
  }
}

Names without_rates(const Names& names) {
  Names rest;
  for (const std::string& name : names) {
    const std::string metric = name.substr(0, name.find(','));
    if (!metric.ends_with("_ratio") && !metric.ends_with("_watts") && !metric.ends_with("_average_hertz"))
      rest.insert(name);
  }
  return rest;
}

std::string difference(const Names& a, const Names& b) {
  std::string text;
  int shown = 0;
  for (const std::string& name : a)
    if (!b.contains(name) && ++shown <= 4) text += "\n  missing " + name;
  for (const std::string& name : b)
    if (!a.contains(name) && ++shown <= 8) text += "\n  too many " + name;
  return text;
}

// "read sys/class/drm/cardN/gt/gtN/rps_act_freq_mhz"
std::string kind_of(const Operation& operation) {
  std::string kind;
  for (const char c : operation) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) kind += c;
    if (digit && !kind.ends_with('N')) kind += 'N';
  }
  return kind;
}

// One fault in a machine that has been watched for a while.
void steady(std::string_view profile) {
  Pair pair(profile);
  pair.good.make();
  pair.bad.make();
  for (int i = 0; i < 3; ++i) {
    pair.clock.advance(kInterval);
    pair.good.scrape();
    pair.bad.scrape();
  }
  const std::map<Operation, Names> users = users_of_operations(pair);
  pair.clock.advance(kInterval);
  pair.good.scrape();
  Page last = pair.bad.scrape();
  CHECK(users.size() > 20);

  int cases = 0;
  Names kinds;
  for (const auto& [faulty, affected] : users) {
    const Operation& operation = faulty;  // clang 14 captures no structured binding
    const bool new_kind = kinds.insert(kind_of(operation)).second;
    if (!whole_matrix() && !new_kind) continue;
    for (const Fault fault : kFaults) {
      if (fault == Fault::blocks && !new_kind) continue;  // in how it blocks, one is like the other
      INFO(profile << ": " << operation << ": " << name_of(fault));
      pair.clock.advance(kInterval);
      const int said = complaints(pair.bad.log);
      const int known = found(pair.bad.log);
      const Page expected = pair.good.scrape();
      pair.bad.injector.arm(operation, fault);
      const Page hurt = pair.bad.scrape_text();
      CHECK(pair.bad.injector.hit());
      pair.bad.injector.disarm();
      if (fault == Fault::blocks) {
        pair.bad.injector.release();
        CHECK(pair.bad.is_whole_within(60s));
      }
      ++cases;

      for (const auto& [collector, series] : expected.by_collector) {
        if (affected.contains(collector)) continue;
        const auto there = hurt.by_collector.find(collector);
        const Names got = there == hurt.by_collector.end() ? Names() : there->second;
        if (got != series) FAIL_CHECK(collector << difference(series, got));
      }
      for (const std::string& collector : hurt.failed) CHECK_MESSAGE(affected.contains(collector), collector);
      check_no_step_back(last, hurt);
      const int lines = complaints(pair.bad.log) - said;
      INFO(last_lines(pair.bad.log, lines));
      // Sizes of memory and what of them is used are two permissions with two fixes.
      const int allowed = operation.starts_with("ioctl") && fault == Fault::eacces ? 2 : 1;
      CHECK(lines <= allowed);
      if (!hurt.failed.empty()) CHECK(lines == 1);

      // The next scrape has everything back that needs no window; the one after it has all. A GPU that seemed to be
      // gone is taken up like a new one, whose xe events are opened when it is seen to work.
      Page next = hurt;
      int rounds = 2;
      for (int round = 1; round <= rounds; ++round) {
        pair.clock.advance(kInterval);
        const Page whole = pair.good.scrape();
        const Page before = next;
        next = pair.bad.scrape();
        if (found(pair.bad.log) > known) rounds = 4;
        check_no_step_back(before, next);
        for (const auto& [collector, series] : whole.by_collector) {
          const Names& got = next.by_collector[collector];
          const bool all = round == rounds;
          if (!all && rounds > 2) continue;
          const Names wanted = all ? series : without_rates(series);
          const Names there = all ? got : without_rates(got);
          if (there != wanted)
            FAIL_CHECK("afterwards, round " << round << ": " << collector << difference(wanted, there));
        }
        CHECK(next.failed.empty());
      }
      last = next;
    }
  }
  MESSAGE(std::string(profile) << ": " << cases << " faults in " << users.size() << " files and calls");
}

}  // namespace

TEST_SUITE_BEGIN("fault_matrix");

// ctest runs each by its name (tests/CMakeLists.txt).
TEST_CASE("arc-a770") { steady("arc-a770"); }
TEST_CASE("battlemage") { steady("battlemage"); }
TEST_CASE("tgl-broadcast") { steady("tgl-broadcast"); }

TEST_SUITE_END();
