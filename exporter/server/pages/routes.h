// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "igpu/flight.h"
#include "server/http/message.h"
#include "server/pages/api.h"
#include "server/pages/index_page.h"
#include "server/pages/metrics_handler.h"
#include "server/pages/scrape_source.h"
#include "server/self/own_metrics.h"

namespace igpu::exporter {

// The state of the program's life cycle, for /-/ready.
class Readiness {
 public:
  enum class State { starting, ready, draining };
  State state() const { return state_.load(); }
  void set(State state) { state_.store(state); }

 private:
  std::atomic<State> state_ = State::starting;
};

// The flight recorder, if there is one.
struct FlightAccess {
  std::shared_ptr<Flights> flights = nullptr;
  std::function<bool()> clients_are_known = {};  // true if every client must authenticate at present
};

// Routes requests to pages:
//   TELEMETRY_PATH   the metrics
//   /                a page for people, and /assets/... that it loads
//   /api/v1/...      JSON, see Api
//   /-/healthy       200 while the process runs
//   /-/ready         200 while it serves scrapes, 503 before that and during shutdown; with ?gpu=healthy 503 also while
//                    a GPU is wedged or in survivability mode
//   /debug/flight    POST requests a flight. If clients need not authenticate, only for clients on this host, and not
//                    through a proxy, behind which every client would seem to be on this host; never for web sites
// Otherwise GET and HEAD only; everything else is 404 or 405. Paths match exactly.
class Routes final : public HttpHandler {
 public:
  // All of them must outlive the routes.
  Routes(std::string telemetry_path, MetricsHandler& metrics, ScrapeSource& source, RequestMetrics& requests,
         const Readiness& readiness, FindGrants find_grants = {}, FlightAccess flight_access = {}, LivePage page = {});

  void handle(const HttpRequest& request, HttpResponse& response) override;
  void answered(int status) override { requests_.count(status); }
  Event next_event() override;

 private:
  void request_flight(const HttpRequest& request, HttpResponse& response) const;
  void index(const HttpRequest& request, HttpResponse& response);
  void ready(const HttpRequest& request, HttpResponse& response);
  void gpus_ready(const HttpRequest& request, HttpResponse& response);

  std::string telemetry_path_;
  MetricsHandler& metrics_;
  ScrapeSource& source_;
  RequestMetrics& requests_;
  const Readiness& readiness_;
  const FindGrants find_grants_;
  const FlightAccess flight_access_;
  const std::string host_;
  Api api_;
  Assets assets_;
};

}  // namespace igpu::exporter
