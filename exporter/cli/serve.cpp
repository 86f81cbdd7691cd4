// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <optional>

#include "cli/commands.h"
#include "http/listener.h"
#include "http/metrics_handler.h"
#include "http/routes.h"
#include "http/scrape_source.h"
#include "igpu/monitor.h"
#include "self/build_info.h"
#include "service/readiness.h"
#include "service/signals.h"
#include "web_config/guard.h"
#include "web_config/web_config_file.h"

namespace igpu::exporter {
namespace {

using std::chrono::milliseconds;

constexpr rlim_t kOpenFiles = 4096;
constexpr milliseconds kStopGrace(5000);  // for clients to take the answers that are ready

// One thread for each scrape that may be under way, and some for health checks beside them.
unsigned worker_count(unsigned max_requests) { return max_requests == 0 ? 64 : std::clamp(max_requests + 4, 8U, 256U); }

// Clients, perf events and a walk over /proc share one limit; the soft one is for programs that use select().
void raise_open_files_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kOpenFiles) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, kOpenFiles);
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

FrontOptions front_options(Nanoseconds web_timeout) {
  const auto timeout = std::max(std::chrono::duration_cast<milliseconds>(web_timeout), milliseconds(100));
  FrontOptions options;
  options.head_timeout = std::min(timeout, options.head_timeout);
  options.write_timeout = std::min(timeout, options.write_timeout);
  return options;
}

// Requests whose passwords are being checked never hold all workers: those whose password is known pass at once.
PasswordCheck::Limits password_limits(unsigned workers) {
  PasswordCheck::Limits limits;
  limits.waiting = workers / 6;
  limits.waiting_same = workers / 2;
  return limits;
}

}  // namespace

int serve(const Options& options) {
#if defined(__GLIBC__)
  // Workers come and go with little to keep: an arena for each of them would only be memory.
  ::mallopt(M_ARENA_MAX, 2);
#endif
  raise_open_files_limit();
  TerminationSignals signals;  // before any thread
  StderrLog log(options.log_level, options.log_format);
  log.hold();  // nothing is said before everything has worked: what ends the start is one line
  const BuildInfo build = build_info();
  log.write(LogLevel::info, "starting", {{"version", build.version}, {"revision", build.revision}});
  std::optional<WebConfigFile> web_config;
  if (!options.web_config_file.empty()) web_config.emplace(options.web_config_file, log);
  Monitor monitor(options.monitor, log);
  if (monitor.simulated()) {
    log.write(LogLevel::warn, "this machine is simulated", {{"profile", options.monitor.simulate}});
  }
  MonitorSource source(monitor);
  RequestMetrics requests;
  Readiness readiness;
  MetricsHandlerOptions metrics_options{options.max_requests, options.timeout, options.exporter_metrics};
  if (web_config) metrics_options.more.push_back(&*web_config);
  MetricsHandler metrics(metrics_options, source, requests);
  Routes routes(options.telemetry_path, metrics, source, requests, readiness);
  std::optional<Guard> guard;
  if (web_config) guard.emplace(*web_config, routes, password_limits(worker_count(options.max_requests)));
  Front::TlsContext tls;
  if (web_config && web_config->tls_context()) tls = [&web_config] { return web_config->tls_context(); };
  Listener listener({options.listen_addresses, worker_count(options.max_requests), front_options(options.timeout), tls},
                    guard ? static_cast<HttpHandler&>(*guard) : routes, log);
  readiness.set(Readiness::State::ready);
  for (const std::string& address : listener.bound()) {
    log.write(LogLevel::info, "listening",
              {{"address", address}, {"path", options.telemetry_path}, {"tls", tls ? "on" : "off"}});
  }

  log.release();

  const int signal = signals.wait();
  log.write(LogLevel::info, "stopping", {{"signal", signal == SIGINT ? "SIGINT" : "SIGTERM"}});
  readiness.set(Readiness::State::draining);
  const auto patience = std::chrono::duration_cast<milliseconds>(options.timeout);
  if (!metrics.drain(patience)) log.write(LogLevel::warn, "scrapes under way were given up");
  listener.stop(std::min(patience, kStopGrace));
  log.write(LogLevel::info, "stopped");
  return EXIT_SUCCESS;
}

}  // namespace igpu::exporter
