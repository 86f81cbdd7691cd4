// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "cli/options.h"
#include "igpu/flight.h"
#include "igpu/monitor.h"
#include "igpu/words.h"
#include "platform/own_process.h"
#include "platform/thread.h"
#include "server/doctor/doctor_report.h"
#include "server/flights/flight_files.h"
#include "server/http/addresses.h"
#include "server/http/listener.h"
#include "server/pages/in_flight.h"
#include "server/pages/metrics_handler.h"
#include "server/pages/routes.h"
#include "server/sandbox/sandbox.h"
#include "server/sandbox_plan.h"
#include "server/self/own_metrics.h"
#include "server/serve_stages.h"
#include "server/service/logging.h"
#include "server/service/systemd.h"
#include "server/web_config/guard.h"
#include "server/web_config/web_config_file.h"
#include "view/workloads/rules_file.h"

namespace igpu::exporter {
namespace {

using Clock = std::chrono::steady_clock;

using std::chrono::milliseconds;

// Clients, perf events and the scan of /proc share one limit; the low default is for programs that use select().
constexpr std::uint64_t kOpenFiles = 4096;
constexpr milliseconds kShortestHeadTimeout(1000);
constexpr milliseconds kStopGrace(5000);  // for clients to receive finished responses

// One thread for each concurrent scrape, and some for health checks.
unsigned worker_count(unsigned max_requests) { return max_requests == 0 ? 64 : std::clamp(max_requests + 4, 8U, 256U); }

FrontOptions front_options(Nanoseconds web_timeout) {
  const auto timeout = std::max(std::chrono::duration_cast<milliseconds>(web_timeout), milliseconds(100));
  FrontOptions options;
  // A short scrape timeout must not reject clients whose TLS handshake takes longer.
  options.head_timeout = std::min(std::max(timeout, kShortestHeadTimeout), options.head_timeout);
  options.write_timeout = std::min(timeout, options.write_timeout);
  options.handshakes = std::clamp(std::thread::hardware_concurrency() / 2, 1U, 2U);
  return options;
}

// Password checks never occupy all workers: requests with a known password are served without waiting.
PasswordCheck::Limits password_limits(unsigned workers) {
  PasswordCheck::Limits limits;
  limits.computations = std::clamp(std::thread::hardware_concurrency() / 2, 1U, limits.computations);
  limits.waiting = workers / 6;
  limits.waiting_same = workers / 2;
  return limits;
}

// Inherited sockets replace the default address; addresses given by flags are added to them.
std::vector<ListenAddress> own_addresses(const Options& options, const std::vector<UniqueSocket>& inherited) {
  const bool inherited_only = !inherited.empty() && !options.listen_addresses_given;
  return inherited_only ? std::vector<ListenAddress>() : options.listen_addresses;
}

bool authenticates_clients(const LoadedWebConfig& loaded) {
  const std::optional<TlsSettings>& tls = loaded.config.tls;
  return (tls && requires_certificate(tls->client_auth)) || !loaded.config.users.empty();
}

void warn_if_open(const std::vector<std::string>& bound, bool authenticated, Log& log) {
  const std::vector<std::string> open = reachable_from_outside(bound);
  if (authenticated || open.empty()) return;
  log.write(
      LogLevel::warn, "everyone who can reach this machine can read the metrics",
      {{"address", joined(open, ",")},
       {"hint",
        "--web.config.file with basic_auth_users or client certificates, or --web.listen-address=127.0.0.1:PORT"}});
}

// Serving does not depend on the service manager.
ServiceNotifier connect_to_manager(const Environment& environment, std::string& error) {
  try {
    return ServiceNotifier(environment);
  } catch (const std::runtime_error& unreachable) {
    error = unreachable.what();
    return {};
  }
}

// Of this place, which is recognised while its files are readable.
FindGrants grants_here(const MonitorOptions& options) {
  return [place = place_of(options), program = program_path(options),
          sysfs = options.sysfs_root](std::span<const Finding> findings) {
    PlaceOfGrants grants = place_of_grants(findings, place, program);
    grants.sysfs_root = sysfs;
    return grants;
  };
}

void request_flight(Flights* flights, Log& log) {
  if (flights == nullptr) {
    log.write(LogLevel::warn, "SIGUSR1 asks for a flight, but nothing is recorded",
              {{"hint", "start with --sample.interval 100ms"}});
    return;
  }
  flights->request({.cause = FlightCause::request, .device = {}, .detail = "SIGUSR1"});
  log.write(LogLevel::info, "SIGUSR1: a flight is recorded; /api/v1/flights has it in about ten seconds");
}

// Waits for a signal that ends the program. Meanwhile it notifies the service manager's watchdog while scrapes and
// connections make progress, and asks for a flight at each SIGUSR1.
int wait_for_end(TerminationSignals& signals, const ServiceNotifier& service, ScrapeSource& source, Listener& listener,
                 Flights* flights, Log& log) {
  const auto interval = service.watchdog_interval();
  auto due = interval ? Clock::now() + *interval : Clock::time_point::max();
  bool was_alive = true;
  for (;;) {
    // Neither puts the other off: signals that come again and again, and a watchdog whose checks take longer than its
    // interval.
    const auto left = std::max(std::chrono::ceil<milliseconds>(due - Clock::now()), milliseconds::zero());
    const std::optional<int> signal = interval ? signals.wait(left) : signals.wait();
    if (signal == TerminationSignals::kRequest) request_flight(flights, log);
    if (signal && signal != TerminationSignals::kRequest) return *signal;
    if (!interval || Clock::now() < due) continue;
    due = Clock::now() + *interval;
    // The scrape waits for its turn and discovers GPUs, without running a collector.
    const bool scrapes = source.scrape({CollectorSet::none(), *interval}) != nullptr;
    const bool alive = scrapes && listener.responds(*interval);
    if (alive) service.alive();
    if (!alive && was_alive) {
      log.write(LogLevel::error, "scrapes or connections make no progress",
                {{"hint", "the service manager restarts the program; please report this"}});
    }
    was_alive = alive;
  }
}

const char* own_variable(const char* name) { return std::getenv(name); }

void log_start(Log& log, const std::string& unreachable_manager) {
  log.write(LogLevel::info, "starting", {{"version", build_info().version}, {"revision", build_info().revision}});
  if (!unreachable_manager.empty()) {
    log.write(LogLevel::warn, "the service manager cannot be notified",
              {{"error", unreachable_manager}, {"hint", "unset NOTIFY_SOCKET, or use Type=exec in the unit"}});
  }
}

}  // namespace

template <class Stage>
void EndStage<Stage>::operator()(Stage* stage) const {
  delete stage;
}

// Members end in reverse order, as each may use those before it.
struct StartedHelpers {
  const Options& options;
  const std::shared_ptr<Flights> flights;
  Sandbox sandbox;
  std::optional<int> event_opener{};
  UniqueFd flight_writer{};
  std::vector<PushReceiver> receivers{};
};

struct ReadSecrets {
  const Passed<StartedHelpers> helpers;
  const ServiceNotifier service;
  ListeningSockets sockets;
  TerminationSignals signals;  // before any thread
  StderrLog log;
  std::optional<WebConfigFollower> web_config{};
  std::unique_ptr<FlightKeeper> keeper{};
  PushTargets push_targets{};
};

struct OpenedEarly {
  const Passed<ReadSecrets> secrets;
  const MonitorOptions monitor_options;
  std::shared_ptr<EarlyAccess> early{};
  FindGrants find_grants{};
};

struct Confined {
  explicit Confined(Passed<OpenedEarly> stage);

  const Passed<OpenedEarly> opened;
  ReadSecrets& secrets = *opened->secrets;
  StartedHelpers& helpers = *secrets.helpers;
  const Options& options = helpers.options;
  const std::function<bool()> clients_are_known = [&web_config = secrets.web_config] {
    return web_config && authenticates_clients(*web_config->current());
  };
  Monitor monitor{opened->monitor_options, secrets.log, std::move(opened->early)};
  MonitorSource readings{monitor};
  const std::shared_ptr<PageHistory> history = std::make_shared<PageHistory>();
  RememberingSource source{readings, history};
  RequestMetrics requests;
  Readiness readiness;
  PushMetrics push_metrics;
  std::optional<MetricsHandler> metrics;
  std::optional<Routes> routes;
  std::optional<HostCheck> host_check;
  std::optional<Guard> guard;
  Front::TlsContext tls;
  std::unique_ptr<Pusher> pusher;                             // ends without waiting for receivers or collectors
  const FrontOptions front = front_options(options.timeout);  // reads the number of processors from a file

 private:
  void make_metrics();
  void make_handlers();
};

Confined::Confined(Passed<OpenedEarly> stage) : opened(std::move(stage)) {
  if (monitor.simulated()) {
    secrets.log.write(
        LogLevel::warn, "the metrics are those of a simulated machine",
        {{"profile", options.monitor.simulate}, {"hint", "start without --simulate to monitor this machine"}});
  }
  make_metrics();
  make_handlers();
  pusher = prepare_pusher(
      std::move(secrets.push_targets), options.push.interval, push_metrics,
      [this](std::stop_token gone, const auto& use) { return metrics->read(std::move(gone), use); }, secrets.log);
}

void Confined::make_metrics() {
  MetricsHandlerOptions with{options.max_requests, options.timeout, options.exporter_metrics};
  with.more = [this](SampleList& out) {
    add_sandbox_metrics(helpers.sandbox.outcomes(), out);
    add_log_metrics(secrets.log, out);
    if (secrets.web_config) add_web_config_metric(secrets.web_config->successful(), out);
    add_push_metrics(push_metrics, out);
    const auto failures = secrets.keeper ? std::optional(secrets.keeper->failures()) : std::nullopt;
    if (helpers.flights) add_flight_metrics(*helpers.flights, failures, out);
  };
  metrics.emplace(with, source, requests);
}

void Confined::make_handlers() {
  routes.emplace(options.telemetry_path, *metrics, source, requests, readiness, opened->find_grants,
                 FlightAccess{helpers.flights, clients_are_known},
                 LivePage{own_host_name(), history, read_sysfs_of(options.monitor),
                          [this](JsonWriter& json) { write_sandbox(json, helpers.sandbox.outcomes()); }});
  host_check.emplace(*routes, options.allowed_hosts, own_host_name(), clients_are_known);
  std::optional<WebConfigFollower>& web_config = secrets.web_config;
  if (!web_config) return;
  guard.emplace(*web_config, *host_check, password_limits(worker_count(options.max_requests)));
  if (!web_config->current()->tls) return;
  tls = [&web_config] {
    const auto now = web_config->current();
    return Front::Tls{now->tls, now->tls_policy};
  };
}

Passed<StartedHelpers> start_helpers(const Options& options) {
  Passed<StartedHelpers> helpers(new StartedHelpers{
      .options = options,
      .flights = has_flight_recorder(options.monitor) ? std::make_shared<Flights>() : nullptr,
      .sandbox = Sandbox(sandbox_plan(options)),
  });
  helpers->sandbox.protect_memory();
  reap_children();  // the event opener, and what ends below PID 1 of a container
  helpers->event_opener =
      helpers->sandbox.start_event_opener([&options] { return perf_opener(options.monitor.sysfs_root); });
  helpers->flight_writer = start_flight_writer(options, helpers->sandbox);  // before a proxy's password is read
  helpers->receivers = start_push(options.push, helpers->sandbox, own_variable);
  return helpers;
}

Passed<ReadSecrets> read_secrets(Passed<StartedHelpers> helpers) {
  limit_allocator_arenas();
  raise_open_files_limit(kOpenFiles);
  StartedHelpers& before = *helpers;
  const Options& options = before.options;
  std::vector<UniqueSocket> inherited = inherited_sockets(own_variable);
  std::string unreachable_manager;
  ServiceNotifier service = connect_to_manager(own_variable, unreachable_manager);
  clear_service_environment();
  const std::vector<ListenAddress> addresses = own_addresses(options, inherited);
  Passed<ReadSecrets> secrets(new ReadSecrets{std::move(helpers),
                                              std::move(service),
                                              ListeningSockets(std::move(inherited), addresses),
                                              TerminationSignals({SIGTERM, SIGINT, TerminationSignals::kRequest}),
                                              {options.log_level, options.log_format}});
  StderrLog& log = secrets->log;
  log.hold();  // a failed start prints one line only
  log_start(log, unreachable_manager);
  if (!options.web_config_file.empty())
    before.sandbox.keep_readable(secrets->web_config.emplace(options.web_config_file, log).files());
  secrets->push_targets = wait_until_started(std::move(before.receivers));
  secrets->keeper = start_flight_keeper(options, before.flights, std::move(before.flight_writer), log);
  return secrets;
}

// Needs capabilities that are dropped then: CAP_BPF, CAP_SYSLOG.
Passed<OpenedEarly> open_with_privileges(Passed<ReadSecrets> secrets) {
  const StartedHelpers& helpers = *secrets->helpers;
  MonitorOptions options = with_workload_rules(helpers.options.monitor, secrets->log);
  options.flights = helpers.flights;
  Passed<OpenedEarly> opened(new OpenedEarly{std::move(secrets), std::move(options)});
  opened->early = helpers.event_opener ? open_early(opened->monitor_options, *helpers.event_opener)
                                       : open_early(opened->monitor_options);
  return_freed_memory();  // the kernel's types, ten megabytes, are read to load the BPF programs and freed again
  opened->find_grants = grants_here(opened->monitor_options);
  return opened;
}

Passed<Confined> confine(Passed<OpenedEarly> opened) {
  Sandbox& sandbox = opened->secrets->helpers->sandbox;
  sandbox.drop_privileges();
  Passed<Confined> confined(new Confined(std::move(opened)));  // collectors' threads
  sandbox.confine_clients();
  sandbox.filter_system_calls();
  return confined;
}

namespace {

void report_ready(Confined& all, const Listener& listener) {
  StderrLog& log = all.secrets.log;
  warn_if_open(listener.bound(), all.clients_are_known(), log);
  all.readiness.set(Readiness::State::ready);
  for (const std::string& address : listener.bound()) {
    log.write(LogLevel::info, "listening",
              {{"address", address}, {"path", all.options.telemetry_path}, {"tls", all.tls ? "on" : "off"}});
  }
  log.release();
}

void finish(Confined& all, Listener& listener) {
  all.secrets.service.stopping("finishing responses");
  all.readiness.set(Readiness::State::draining);
  all.pusher.reset();
  all.secrets.sockets.remove_files();
  const auto timeout = std::chrono::duration_cast<milliseconds>(all.options.timeout);
  if (!all.metrics->drain(timeout)) {
    all.secrets.log.write(LogLevel::warn, "running scrapes were abandoned",
                          {{"hint", "raise --web.timeout if scrapes take longer"}});
  }
  listener.stop(std::min(timeout, kStopGrace));
  all.secrets.log.write(LogLevel::info, "stopped");
}

}  // namespace

int serve_clients(Passed<Confined> confined) {
  Confined& all = *confined;
  ReadSecrets& secrets = all.secrets;
  const Options& options = all.options;
  if (secrets.keeper) secrets.keeper->start();
  if (all.helpers.sandbox.keeps_files()) secrets.sockets.leave_files();
  if (secrets.web_config) secrets.web_config->start();
  Listener listener({worker_count(options.max_requests), all.front, all.tls}, secrets.sockets.take_sockets(),
                    all.guard ? static_cast<HttpHandler&>(*all.guard) : *all.host_check, secrets.log);
  all.helpers.sandbox.report(secrets.log);
  report_ready(all, listener);
  secrets.service.ready("serving on " + joined(listener.bound(), ","));
  unmap_start_pages();
  if (all.pusher) all.pusher->start();

  const int signal =
      wait_for_end(secrets.signals, secrets.service, all.source, listener, all.helpers.flights.get(), secrets.log);
  secrets.log.write(LogLevel::info, "stopping", {{"signal", signal == SIGINT ? "SIGINT" : "SIGTERM"}});
  finish(all, listener);
  return EXIT_SUCCESS;
}

int serve(const Options& options) {
  return serve_clients(confine(open_with_privileges(read_secrets(start_helpers(options)))));
}

}  // namespace igpu::exporter
