// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "cli/commands.h"
#include "http/listener.h"
#include "http/metrics_handler.h"
#include "http/routes.h"
#include "http/scrape_source.h"
#include "http/web_config.h"
#include "igpu/monitor.h"
#include "self/build_info.h"
#include "service/readiness.h"
#include "service/signals.h"

namespace igpu::exporter {
namespace {

using std::chrono::milliseconds;

// One thread for each connection: enough that idle clients do not hold all of them, and that a scrape over
// --web.max-requests still finds one to tell it so.
unsigned worker_count(unsigned max_requests) { return std::clamp(max_requests + 8, 24U, 64U); }

// A client has to send its request's header within this time, and may stop reading for as long.
milliseconds request_timeout(Nanoseconds web_timeout) {
  const auto timeout = std::chrono::duration_cast<milliseconds>(web_timeout);
  return std::clamp(timeout, milliseconds(100), milliseconds(2000));
}

}  // namespace

int serve(const Options& options) {
  check_web_config(options.web_config_file);
#if defined(__GLIBC__)
  // Workers come and go with little to keep: an arena for each of them would only be memory.
  ::mallopt(M_ARENA_MAX, 2);
#endif
  TerminationSignals signals;  // before any thread
  StderrLog log(options.log_level, options.log_format);
  log.hold();  // nothing is said before everything has worked: what ends the start is one line
  const BuildInfo build = build_info();
  log.write(LogLevel::info, "starting", {{"version", build.version}, {"revision", build.revision}});
  Monitor monitor(options.monitor, log);
  if (monitor.simulated()) {
    log.write(LogLevel::warn, "this machine is simulated", {{"profile", options.monitor.simulate}});
  }
  MonitorSource source(monitor);
  RequestMetrics requests;
  Readiness readiness;
  MetricsHandler metrics({options.max_requests, options.timeout, options.exporter_metrics}, source, requests);
  Routes routes(options.telemetry_path, metrics, source, requests, readiness);
  Listener listener({options.listen_addresses, worker_count(options.max_requests), request_timeout(options.timeout)},
                    routes, log);
  readiness.set(Readiness::State::ready);
  for (const std::string& address : listener.bound()) {
    log.write(LogLevel::info, "listening", {{"address", address}, {"path", options.telemetry_path}});
  }

  log.release();

  const int signal = signals.wait();
  log.write(LogLevel::info, "stopping", {{"signal", signal == SIGINT ? "SIGINT" : "SIGTERM"}});
  readiness.set(Readiness::State::draining);
  const auto patience = std::chrono::duration_cast<milliseconds>(options.timeout);
  if (!metrics.drain(patience)) log.write(LogLevel::warn, "scrapes under way were given up");
  listener.stop(2 * request_timeout(options.timeout));
  log.write(LogLevel::info, "stopped");
  return EXIT_SUCCESS;
}

}  // namespace igpu::exporter
