// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "cli/options.h"
#include "cli/output.h"
#include "igpu/monitor.h"
#include "platform/own_process.h"
#include "text/text.h"
#include "view/chosen_gpus.h"
#include "view/client/http_fetcher.h"
#include "view/report/gpu_summary.h"
#include "view/stats/stats_writer.h"
#include "view/top/canvas.h"
#include "view/top/live_view.h"
#include "view/top/screen.h"
#include "view/workloads/rules_file.h"

namespace igpu::exporter {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Outcome = StatsOutput::Outcome;

// The screen belongs to the view: it says how many messages there are, and shows them when asked.
class MessageLog final : public Log {
 public:
  explicit MessageLog(LogLevel least) : least_(std::max(least, LogLevel::warn)) {}

  void write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) override {
    if (level < least_) return;
    std::string text(message);
    for (const LogField& field : fields) text += "  " + std::string(field.key) + "=" + std::string(field.value);
    const std::lock_guard lock(mutex_);
    if (texts_.size() == kKept) texts_.erase(texts_.begin());
    texts_.push_back(top::clock_text() + "  " + clean_text(text));
    ++count_;
  }
  void add_to(top::ScreenContext& context) {
    const std::lock_guard lock(mutex_);
    context.messages = texts_;
    context.message_count = count_;
  }

 private:
  static constexpr std::size_t kKept = 50;
  const LogLevel least_;
  std::mutex mutex_;
  std::vector<std::string> texts_;  // the newest is last
  std::size_t count_ = 0;
};

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

std::vector<ScrapeTarget> targets_of(const std::vector<std::string>& urls, const MonitorOptions& monitor) {
  if (!urls.empty() && !monitor.simulate.empty())
    throw UsageError("top: --simulate concerns this machine; it has no meaning with a URL");
  std::vector<ScrapeTarget> targets;
  for (const std::string& url : urls) {
    try {
      targets.push_back(parse_target(url));
    } catch (const std::invalid_argument& error) {
      throw UsageError(std::string("top: ") + error.what());
    }
  }
  return targets;
}

// Reads this machine, or all targets, and holds what the threads need.
class Session {
 public:
  Session(const Options& options, std::vector<ScrapeTarget> targets, const ClientOptions& client, Log& log)
      : targets_(std::move(targets)),
        pace_(std::max<Nanoseconds>(options.stats.interval, std::chrono::milliseconds(100))),
        readings_(names(targets_)) {
    if (!targets_.empty()) {
      fetcher_ = std::make_unique<HttpFetcher>(targets_, client);
      return;
    }
    require_chosen_gpus(options);
    MonitorOptions monitor = with_workload_rules(options.monitor, log);
    if (!options.min_window_given) monitor.min_window = std::min(monitor.min_window, pace_.interval());
    source_name_ = monitor.simulate.empty() ? "this machine" : "simulation " + monitor.simulate;
    is_real_ = monitor.simulate.empty() && monitor.procfs_root == "/proc";
    monitor_ = std::make_unique<Monitor>(monitor, log);
  }

  void start() {
    if (fetcher_) {
      remote_.emplace(*fetcher_, targets_, mailbox_, pace_);
    } else {
      local_.emplace(*monitor_, mailbox_, pace_, is_real_);
    }
  }

  std::string source_name() const {
    if (targets_.empty()) return source_name_;
    return targets_.size() == 1 ? clean_text(targets_.front().name) : std::to_string(targets_.size()) + " hosts";
  }
  bool all_failed() const {
    const auto& hosts = readings_.frame().hosts;
    return std::ranges::all_of(hosts, [](const top::HostFrame& host) { return host.state == top::HostState::failed; });
  }

  top::Mailbox& mailbox() { return mailbox_; }
  top::Pace& pace() { return pace_; }
  top::Readings& readings() { return readings_; }

 private:
  static std::vector<std::string> names(const std::vector<ScrapeTarget>& targets) {
    std::vector<std::string> all;
    all.reserve(targets.size() + 1);
    for (const ScrapeTarget& target : targets) all.push_back(clean_text(target.name));
    if (all.empty()) all.emplace_back();
    return all;
  }

  std::vector<ScrapeTarget> targets_;
  top::Mailbox mailbox_;
  top::Pace pace_;
  top::Readings readings_;
  std::unique_ptr<HttpFetcher> fetcher_;
  std::unique_ptr<Monitor> monitor_;
  bool is_real_ = false;  // its processes are those of /proc
  std::string source_name_;
  std::optional<top::LocalSource> local_;  // last: their threads end first
  std::optional<top::RemoteSource> remote_;
};

// Frames one after another, on whatever standard output is.
class PlainView {
 public:
  PlainView() {
    unicode_ = select_character_set();
    const char* const term = std::getenv("TERM");
    const bool dumb = term == nullptr || *term == '\0' || std::string_view(term) == "dumb";
    colours_ = ::isatty(STDOUT_FILENO) == 1 && !dumb && !is_set("NO_COLOR");
    width_ = columns_of_output();
  }

  std::string text(Session& session) const { return text(session, {.clock = top::clock_text()}); }
  std::string text(Session& session, top::ScreenContext context) const {
    context.source = session.source_name();
    context.unicode = unicode_;
    context.keys = false;
    const top::Canvas canvas =
        top::draw(session.readings().frame(), session.readings().history(), {}, context, {width_, 0}).canvas;
    return colours_ ? top::ansi_text(canvas) : canvas.text();
  }

 private:
  bool unicode_ = false, colours_ = false;
  int width_ = 80;
};

void wait_for_first_frames(Session& session) {
  while (!session.readings().complete()) {
    pollfd waiting{session.mailbox().descriptor(), POLLIN, 0};
    (void)::poll(&waiting, 1, -1);
    session.readings().read_from(session.mailbox());
  }
}

int print_once(Session& session, StatsOutput& output) {
  session.start();
  wait_for_first_frames(session);
  if (!session.all_failed()) {
    (void)output.write(PlainView().text(session));
    const std::vector<top::HostFrame>& hosts = session.readings().frame().hosts;
    return std::ranges::any_of(hosts, shows_devices) ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  std::string problems;  // there is nothing to draw
  for (const top::HostFrame& host : session.readings().frame().hosts)
    problems += (host.name.empty() ? "" : host.name + ": ") + host.problem + '\n';
  (void)output.write(problems);
  return EXIT_FAILURE;
}

int print_stream(Session& session, StatsOutput& output) {
  session.start();
  const PlainView view;
  // The first frame has a reading.
  while (!session.readings().any()) {
    if (output.wait_until(SteadyClock::now() + std::chrono::milliseconds(20)) != Outcome::goes_on) return EXIT_SUCCESS;
    session.readings().read_from(session.mailbox());
  }
  for (auto next = SteadyClock::now();; next += session.pace().interval()) {
    if (output.wait_until(next) != Outcome::goes_on) return EXIT_SUCCESS;
    session.readings().read_from(session.mailbox());
    if (output.write(view.text(session, top::context_now(session.pace().interval())) + "\n") != Outcome::goes_on)
      return EXIT_SUCCESS;
  }
}

}  // namespace

int top_command(const Options& options) {
  std::vector<ScrapeTarget> targets = targets_of(options.operands, options.monitor);
  const ClientOptions client = targets.empty() ? ClientOptions() : checked_client_options(options.top.client);
  // Signals are blocked before a monitor or libcurl starts threads: one of theirs would receive them instead.
  if (options.top.once || !top::Terminal::available()) {
    StatsOutput output(!options.top.once);
    StderrLog log(std::max(options.log_level, LogLevel::error), options.log_format);
    Session session(options, std::move(targets), client, log);
    return options.top.once ? print_once(session, output) : print_stream(session, output);
  }
  top::TerminalSignals signals;
  MessageLog log(options.log_level);
  Session session(options, std::move(targets), client, log);
  session.start();
  top::run_live_view(session.readings(), session.mailbox(), session.pace(), signals,
                     {.source = session.source_name(),
                      .colours = !is_set("NO_COLOR"),
                      .add_messages = [&log](top::ScreenContext& context) { log.add_to(context); }});
  return EXIT_SUCCESS;
}

}  // namespace igpu::exporter
