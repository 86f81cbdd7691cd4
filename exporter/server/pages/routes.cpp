// SPDX-License-Identifier: Apache-2.0
#include "server/pages/routes.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "igpu/model.h"

namespace igpu::exporter {
namespace {

constexpr std::string_view kHealth = "health";
constexpr std::string_view kFlight = "/debug/flight";
// The page is its own files and its own API, nothing from elsewhere and nothing inline.
constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

// As HttpRequest::client() identifies it.
bool is_of_this_host(std::string_view client) {
  if (client.size() == 4) return client.front() == 127;
  return std::ranges::all_of(client, [](char byte) { return byte == 0; });  // ::1, or a UNIX socket
}

// Of the values of Sec-Fetch-Site, only same-origin and none are not another site's.
bool sent_by_web_site(const HttpRequest& request) {
  const std::string_view site = request.header("Sec-Fetch-Site");
  return request.has_header("Origin") || !(site.empty() || site == "same-origin" || site == "none");
}

// As proxies mark what they pass on; some do so only if they are told to.
bool came_through_proxy(const HttpRequest& request) {
  constexpr std::array kMarks{
      "Forwarded",          "X-Forwarded-For",    "X-Forwarded-Host",   "X-Forwarded-Proto", "X-Forwarded-Port",
      "X-Forwarded-Server", "X-Forwarded-Prefix", "X-Forwarded-Scheme", "X-Real-IP",         "Via"};
  return std::ranges::any_of(kMarks, [&](const char* name) { return !request.header(name).empty(); });
}

}  // namespace

Routes::Routes(std::string telemetry_path, MetricsHandler& metrics, ScrapeSource& source, RequestMetrics& requests,
               const Readiness& readiness, FindGrants find_grants, FlightAccess flight_access, LivePage page)
    : telemetry_path_(std::move(telemetry_path)),
      metrics_(metrics),
      source_(source),
      requests_(requests),
      readiness_(readiness),
      find_grants_(std::move(find_grants)),
      flight_access_(std::move(flight_access)),
      host_(page.host),
      api_(metrics, source, find_grants_, std::chrono::steady_clock::now, flight_access_.flights, std::move(page)) {}

void Routes::handle(const HttpRequest& request, HttpResponse& response) {
  const std::string_view path = request.path();
  if (flight_access_.flights && path == kFlight) return request_flight(request, response);
  const bool metrics = path == telemetry_path_;
  const bool api = api_.has(path);
  const bool scrapes = metrics || api || path == "/";
  if (!scrapes && path != "/-/healthy" && path != "/-/ready" && !Assets::has(path)) {
    response.fail(404, "not found");
    return;
  }
  if (request.method() != "GET" && request.method() != "HEAD") {
    response.fail(405, "only GET and HEAD are answered here");
    response.headers.emplace_back("Allow", "GET, HEAD");
    return;
  }
  if (scrapes) {
    if (readiness_.state() == Readiness::State::draining) {
      response.fail(503, "shutting down");
    } else if (metrics) {
      metrics_.handle(request, response);
    } else if (api) {
      api_.answer(request, response);
    } else {
      index(request, response);
    }
  } else if (path == "/-/ready") {
    ready(request, response);
  } else if (!assets_.answer(request, response)) {
    response.body = "healthy\n";
  }
}

void Routes::request_flight(const HttpRequest& request, HttpResponse& response) const {
  if (request.method() != "POST") {
    response.fail(405, "only POST is answered here");
    response.headers.emplace_back("Allow", "POST");
  } else if (sent_by_web_site(request)) {
    response.fail(403, "no web site may ask for a flight");
  } else if (const bool known = flight_access_.clients_are_known && flight_access_.clients_are_known();
             !known && (!is_of_this_host(request.client()) || came_through_proxy(request))) {
    response.fail(403,
                  "ask on the host itself and without a proxy, or set basic_auth_users or client certificates in "
                  "--web.config.file");
  } else {
    flight_access_.flights->request({.cause = FlightCause::request, .device = {}, .detail = "POST"});
    response.status = 202;
    response.body = "recording; /api/v1/flights has it in about ten seconds\n";
  }
}

Event Routes::next_event() { return readiness_.state() == Readiness::State::draining ? Event() : api_.next_event(); }

void Routes::index(const HttpRequest& request, HttpResponse& response) {
  const std::shared_ptr<const ScrapeResult> result = metrics_.scrape_for(request, response);
  if (!result) return;
  response.content_type = "text/html; charset=utf-8";
  response.headers.emplace_back("Content-Security-Policy", kPagePolicy);
  const std::vector<Finding> findings = most_useful_first(result->findings());
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  response.body = index_page(telemetry_path_, source_.gpus(), findings, PageView(result->lists()), Seconds{now.count()},
                             find_grants_ ? find_grants_(findings) : PlaceOfGrants(), host_);
}

void Routes::ready(const HttpRequest& request, HttpResponse& response) {
  const Readiness::State state = readiness_.state();
  if (state != Readiness::State::ready) {
    response.fail(503, state == Readiness::State::starting ? "starting" : "shutting down");
    return;
  }
  std::vector<std::string> wanted;
  try {
    wanted = query_values(request.query(), "gpu");
  } catch (const std::invalid_argument& error) {
    response.fail(400, error.what());
    return;
  }
  if (wanted.empty()) {
    response.body = "ready\n";
  } else if (wanted != std::vector<std::string>{"healthy"}) {
    response.fail(400, "gpu=healthy is all that can be asked");
  } else {
    gpus_ready(request, response);
  }
}

// Whether a GPU works can be told only while the collector runs that watches it.
void Routes::gpus_ready(const HttpRequest& request, HttpResponse& response) {
  const std::vector<std::string> enabled = source_.enabled_collectors();
  if (std::ranges::find(enabled, kHealth) == enabled.end()) {
    response.body = "ready; the health of GPUs is not watched (--no-collector.health)\n";
    return;
  }
  const auto result = metrics_.scrape_for(request, response, CollectorSet::only({std::string(kHealth)}));
  if (!result) return;
  const auto& failed = result->failed_collectors();
  if (std::ranges::find(failed, kHealth) != failed.end()) {
    response.fail(503, "whether the GPUs work is not known: the collector health failed");
    return;
  }
  std::string out;
  for (const GpuModel& gpu : model_of(PageView(result->lists())).gpus) {
    const std::string_view why = snapshot::out_of_service(gpu);
    if (!why.empty()) out += (out.empty() ? "" : ", ") + gpu.gpu.address + " is " + std::string(why);
  }
  if (out.empty()) {
    response.body = "ready\n";
  } else {
    response.fail(503, out);
  }
}

}  // namespace igpu::exporter
