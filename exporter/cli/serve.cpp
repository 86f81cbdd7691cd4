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

#include "cli/commands.h"
#include "cli/doctor_report.h"
#include "cli/flight_recorder.h"
#include "cli/place.h"
#include "cli/push.h"
#include "cli/sandbox_plan.h"
#include "flights/flight_metrics.h"
#include "http/host_check.h"
#include "http/listen.h"
#include "http/listener.h"
#include "igpu/flight.h"
#include "igpu/monitor.h"
#include "igpu/perf_opener.h"
#include "igpu/words.h"
#include "pages/metrics_handler.h"
#include "pages/routes.h"
#include "pages/scrape_source.h"
#include "platform/own_process.h"
#include "sandbox/sandbox.h"
#include "self/build_info.h"
#include "self/own_metrics.h"
#include "service/logging.h"
#include "service/readiness.h"
#include "service/signals.h"
#include "service/start_pages.h"
#include "service/systemd.h"
#include "web_config/follower.h"
#include "web_config/guard.h"
#include "workloads/rules_file.h"

namespace igpu::exporter {
namespace {

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
std::vector<ListenAddress> own_addresses(const Options& options, const std::vector<InheritedSocket>& inherited) {
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
  using Clock = std::chrono::steady_clock;
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

}  // namespace

int serve(const Options& options) {
  const std::shared_ptr<Flights> flights = has_flight_recorder(options.monitor) ? std::make_shared<Flights>() : nullptr;
  Sandbox sandbox(sandbox_plan(options));
  sandbox.protect_memory();
  reap_children();  // the event opener, and what ends below PID 1 of a container
  const std::optional<int> event_opener =
      sandbox.start_event_opener([&options] { return perf_opener(options.monitor.sysfs_root); });
  const Environment environment = [](const char* name) -> const char* { return std::getenv(name); };
  UniqueFd flight_writer = start_flight_writer(options, sandbox);  // before a proxy's password is read
  PushSetup push(options.push, sandbox, environment);
  limit_allocator_arenas();
  raise_open_files_limit(kOpenFiles);
  std::vector<InheritedSocket> inherited = inherited_sockets(environment);
  std::string unreachable_manager;
  const ServiceNotifier service = connect_to_manager(environment, unreachable_manager);
  clear_service_environment();
  const std::vector<ListenAddress> addresses = own_addresses(options, inherited);
  ListeningSockets sockets(std::move(inherited), addresses);
  TerminationSignals signals({SIGTERM, SIGINT, TerminationSignals::kRequest});  // before any thread
  StderrLog log(options.log_level, options.log_format);
  log.hold();  // a failed start prints one line only
  const BuildInfo build = build_info();
  log.write(LogLevel::info, "starting", {{"version", build.version}, {"revision", build.revision}});
  if (!unreachable_manager.empty()) {
    log.write(LogLevel::warn, "the service manager cannot be notified",
              {{"error", unreachable_manager}, {"hint", "unset NOTIFY_SOCKET, or use Type=exec in the unit"}});
  }
  std::optional<WebConfigFollower> web_config;
  if (!options.web_config_file.empty()) web_config.emplace(options.web_config_file, log);
  if (web_config) sandbox.keep_readable(web_config->files());
  push.wait_until_started();
  const std::unique_ptr<FlightKeeper> keeper = start_flight_keeper(options, flights, std::move(flight_writer), log);
  MonitorOptions monitor_options = with_workload_rules(options.monitor, log);
  monitor_options.flights = flights;
  // What is opened early needs capabilities that are dropped then: CAP_BPF, CAP_SYSLOG.
  std::shared_ptr<EarlyAccess> early =
      event_opener ? open_early(monitor_options, *event_opener) : open_early(monitor_options);
  return_freed_memory();  // the kernel's types, ten megabytes, are read to load the BPF programs and freed again
  const FindGrants find_grants = grants_here(monitor_options);
  sandbox.drop_privileges();
  Monitor monitor(monitor_options, log, std::move(early));
  if (monitor.simulated()) {
    log.write(LogLevel::warn, "the metrics are those of a simulated machine",
              {{"profile", options.monitor.simulate}, {"hint", "start without --simulate to monitor this machine"}});
  }
  MonitorSource readings(monitor);
  const auto history = std::make_shared<PageHistory>();
  RememberingSource source(readings, history);
  RequestMetrics requests;
  Readiness readiness;
  SandboxMetrics sandbox_metrics;
  LogMetrics log_metrics(log);
  MetricsHandlerOptions metrics_options{options.max_requests, options.timeout};
  metrics_options.more.push_back(&sandbox_metrics);
  metrics_options.more.push_back(&log_metrics);
  if (web_config) metrics_options.more.push_back(&*web_config);
  PushMetrics push_metrics;
  metrics_options.more.push_back(&push_metrics);
  std::optional<FlightMetrics> flight_metrics;
  if (flights) metrics_options.more.push_back(&flight_metrics.emplace(flights, keeper.get()));
  MetricsHandler metrics(metrics_options, source, requests);
  const auto clients_are_known = [&web_config] { return web_config && authenticates_clients(*web_config->current()); };
  Routes routes(options.telemetry_path, metrics, source, requests, readiness, find_grants, {flights, clients_are_known},
                {own_host_name(), history, read_sysfs_of(options.monitor),
                 [&sandbox](JsonWriter& json) { write_sandbox(json, sandbox.outcomes()); }});
  HostCheck host_check(routes, options.allowed_hosts, own_host_name(), clients_are_known);
  std::optional<Guard> guard;
  if (web_config) guard.emplace(*web_config, host_check, password_limits(worker_count(options.max_requests)));
  Front::TlsContext tls;
  if (web_config && web_config->current()->tls) {
    tls = [&web_config] {
      const auto now = web_config->current();
      return Front::Tls{now->tls, now->tls_policy};
    };
  }
  std::unique_ptr<PushThreads> pusher = push.prepare_threads(
      push_metrics, [&metrics](std::stop_token gone, const auto& use) { return metrics.read(std::move(gone), use); },
      log);
  const FrontOptions front = front_options(options.timeout);  // reads the number of processors from a file
  sandbox.confine_clients();
  sandbox.filter_system_calls();
  for (const Layer layer : kLayers) sandbox_metrics.set(layer, sandbox.outcome(layer).on);
  if (keeper) keeper->start();
  if (sandbox.keeps_files()) sockets.leave_files();
  if (web_config) web_config->start();
  Listener listener({worker_count(options.max_requests), front, tls}, sockets.take_sockets(),
                    guard ? static_cast<HttpHandler&>(*guard) : host_check, log);
  sandbox.report(log);
  warn_if_open(listener.bound(), clients_are_known(), log);
  readiness.set(Readiness::State::ready);
  for (const std::string& address : listener.bound()) {
    log.write(LogLevel::info, "listening",
              {{"address", address}, {"path", options.telemetry_path}, {"tls", tls ? "on" : "off"}});
  }

  log.release();
  service.ready("serving on " + joined(listener.bound(), ","));
  unmap_start_pages();
  if (pusher) pusher->start();

  const int signal = wait_for_end(signals, service, source, listener, flights.get(), log);
  log.write(LogLevel::info, "stopping", {{"signal", signal == SIGINT ? "SIGINT" : "SIGTERM"}});
  service.stopping("finishing responses");
  readiness.set(Readiness::State::draining);
  pusher.reset();
  sockets.remove_files();
  const auto timeout = std::chrono::duration_cast<milliseconds>(options.timeout);
  if (!metrics.drain(timeout)) {
    log.write(LogLevel::warn, "running scrapes were abandoned",
              {{"hint", "raise --web.timeout if scrapes take longer"}});
  }
  listener.stop(std::min(timeout, kStopGrace));
  log.write(LogLevel::info, "stopped");
  return EXIT_SUCCESS;
}

}  // namespace igpu::exporter
