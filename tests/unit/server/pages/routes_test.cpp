// SPDX-License-Identifier: Apache-2.0
#include "server/pages/routes.h"

#include <doctest/doctest.h>

#include "support/fake_http.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace igpu::test;

namespace {

struct Site {
  FakeSource source;
  RequestMetrics requests;
  MetricsHandler metrics{{}, source, requests};
  Readiness readiness;
  Routes routes{"/metrics", metrics, source, requests, readiness};

  HttpResponse get(const std::string& path, const std::string& method = "GET", const std::string& query = {}) {
    FakeRequest request;
    request.query_text = query;
    request.path_text = path;
    request.method_text = method;
    HttpResponse response;
    routes.handle(request, response);
    return response;
  }
};

}  // namespace

TEST_SUITE_BEGIN("routes");

TEST_CASE("paths match only in full") {
  Site site;
  CHECK(site.get("/metrics").status == 200);
  CHECK(site.get("/").status == 200);
  CHECK(site.get("/-/healthy").body == "healthy\n");
  for (const char* path : {"/api/v1/snapshot", "/api/v1/doctor", "/assets/page.js"}) {
    CAPTURE(path);
    CHECK(site.get(path).status == 200);
  }
  for (const char* path :
       {"/api", "/api/v1", "/api/v1/", "/api/v1/snapshot/", "/api/v2/snapshot", "/assets/", "/assets/page.jsx",
        "/metrics/", "/metricsx", "/metrics/x", "/Metrics", "/x", "", "/-/", "/-/healthy/", "/favicon.ico"}) {
    CAPTURE(path);
    CHECK(site.get(path).status == 404);
  }
}

TEST_CASE("other methods than GET and HEAD are 405 with Allow; unknown paths are 404 for every method") {
  Site site;
  CHECK(site.get("/metrics", "HEAD").status == 200);
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "get", ""}) {
    CAPTURE(method);
    const HttpResponse response = site.get("/metrics", method);
    CHECK(response.status == 405);
    REQUIRE(response.headers.size() == 1);
    CHECK(response.headers.front() == std::pair<std::string_view, std::string_view>("Allow", "GET, HEAD"));
    CHECK(site.get("/x", method).status == 404);
  }
  CHECK(site.source.scrapes == 1);
}

TEST_CASE("readiness follows the program's life; health does not") {
  Site site;
  CHECK(site.get("/-/ready").status == 503);
  site.readiness.set(Readiness::State::ready);
  CHECK(site.get("/-/ready").status == 200);
  site.readiness.set(Readiness::State::draining);
  CHECK(site.get("/-/ready").status == 503);
  CHECK(site.get("/metrics").status == 503);
  CHECK(site.get("/").status == 503);
  CHECK(site.get("/api/v1/snapshot").status == 503);
  CHECK(site.get("/api/v1/doctor").status == 503);
  CHECK(site.get("/assets/page.css").status == 200);
  CHECK(site.get("/-/healthy").status == 200);
}

TEST_CASE("a load balancer asks whether the GPUs work, too") {
  Site site;
  site.source.enabled = {"engines", "health"};
  CHECK(site.get("/-/ready", "GET", "gpu=healthy").status == 503);  // starting
  CHECK(site.source.scrapes == 0);
  site.readiness.set(Readiness::State::ready);
  CHECK(site.get("/-/ready", "GET", "gpu=healthy").body == "ready\n");
  CHECK(site.source.last.collectors.has("health"));
  CHECK_FALSE(site.source.last.collectors.has("engines"));

  static constexpr Metric<Flag, 1> kMode{"intel_gpu_survivability_mode", Kind::gauge, "It is.", {"device"}};
  double mode = 0;
  site.source.more_samples = [&](SampleList& list) { add_sample(list, kMode, {"0000:03:00.0"}, mode); };
  CHECK(site.get("/-/ready", "GET", "gpu=healthy").status == 200);
  mode = 1;
  const HttpResponse sick = site.get("/-/ready", "GET", "gpu=healthy");
  CHECK(sick.status == 503);
  CHECK(sick.body == "0000:03:00.0 is in survivability mode\n");
  CHECK(site.get("/-/ready").status == 200);  // the program itself is well
}

TEST_CASE("nobody watches the GPUs' health: as without the question; other questions are refused") {
  Site site;
  site.readiness.set(Readiness::State::ready);
  CHECK(site.get("/-/ready", "GET", "gpu=healthy").status == 200);
  CHECK(site.source.scrapes == 0);
  CHECK(site.get("/-/ready", "GET", "gpu=").status == 400);
  CHECK(site.get("/-/ready", "GET", "gpu=healthy&gpu=x").status == 400);
  CHECK(site.get("/-/ready", "GET", "gpu=%00").status == 400);
  CHECK(site.get("/-/ready", "GET", "other=1").status == 200);
}

TEST_CASE("the page may load its own files and nothing else; the API is closed to other web sites") {
  Site site;
  const HttpResponse page = site.get("/");
  REQUIRE(page.headers.size() == 1);
  const std::string policy(page.headers.front().second);
  CHECK(page.headers.front().first == "Content-Security-Policy");
  CHECK(policy.find("default-src 'none'") != std::string::npos);
  CHECK(policy.find("frame-ancestors 'none'") != std::string::npos);  // default-src does not cover it
  CHECK(policy.find("unsafe") == std::string::npos);
  CHECK(policy.find('*') == std::string::npos);
  FakeRequest request;
  request.path_text = "/api/v1/snapshot";
  request.headers["Origin"] = "https://one.example";
  HttpResponse response;
  Routes("/metrics", site.metrics, site.source, site.requests, site.readiness).handle(request, response);
  CHECK(response.status == 200);
  CHECK(std::none_of(response.headers.begin(), response.headers.end(),
                     [](const auto& header) { return header.first.starts_with("Access-Control-"); }));
}

TEST_CASE("the index page scrapes, too, and counts as a request") {
  Site site;
  CHECK(site.get("/").status == 200);
  CHECK(site.source.scrapes == 1);
  MetricsHandler one_at_a_time({.max_requests = 1}, site.source, site.requests);
  Routes routes("/metrics", one_at_a_time, site.source, site.requests, site.readiness);
  FakeRequest request;
  request.path_text = "/";
  HttpResponse inner;
  HttpResponse outer;
  site.source.during = [&] { routes.handle(request, inner); };
  routes.handle(request, outer);
  CHECK(outer.status == 200);
  CHECK(inner.status == 503);
}

TEST_SUITE_END();

TEST_CASE("a flight is asked for by POST, from this host or by a client that is known") {
  FakeSource source;
  RequestMetrics requests;
  MetricsHandler metrics{{}, source, requests};
  Readiness readiness;
  const auto flights = std::make_shared<Flights>();
  const auto status = [&](bool clients_are_known, const std::string& client, const std::string& method = "POST",
                          const std::string& header = {}, const std::string& text = "https://example.org") {
    Routes routes("/metrics", metrics, source, requests, readiness, {},
                  {flights, [clients_are_known] { return clients_are_known; }});
    FakeRequest request;
    request.method_text = method;
    request.path_text = "/debug/flight";
    request.client_text = client;
    if (!header.empty()) request.headers[header] = text;
    HttpResponse response;
    routes.handle(request, response);
    return response.status;
  };
  const auto asked = [&flights] {
    std::uint64_t count = 0;
    for (const FlightRequest& request : flights->take_requests()) count += 1 + request.more;
    return count;
  };
  const std::string loopback("\x7f\0\0\1", 4), ipv6_loopback(8, '\0'), other("\xc0\xa8\1\2", 4);
  CHECK(status(false, loopback) == 202);
  CHECK(status(false, ipv6_loopback) == 202);
  CHECK(status(false, "") == 202);
  CHECK(asked() == 3);
  CHECK(status(false, other) == 403);
  CHECK(status(false, std::string("\x20\1\0\0\0\0\0\0", 8)) == 403);
  CHECK(status(true, other, "POST", "Origin") == 403);
  for (const char* site : {"cross-site", "same-site"})
    CHECK(status(true, other, "POST", "Sec-Fetch-Site", site) == 403);
  for (const char* method : {"GET", "HEAD", "PUT", "OPTIONS"}) CHECK(status(true, other, method) == 405);
  // Behind a proxy on this host everybody is a client of this host.
  for (const char* header :
       {"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Port", "Forwarded", "X-Real-IP", "Via"})
    CHECK(status(false, loopback, "POST", header) == 403);
  CHECK(asked() == 0);
  CHECK(status(true, other) == 202);
  CHECK(status(true, loopback, "POST", "X-Forwarded-For") == 202);
  for (const char* site : {"same-origin", "none"}) CHECK(status(true, other, "POST", "Sec-Fetch-Site", site) == 202);
  CHECK(asked() == 4);
  Site without;
  CHECK(without.get("/debug/flight", "POST").status == 404);
  CHECK(without.get("/api/v1/flights").status == 404);
}

TEST_CASE("large flights that slow clients read take a bounded amount of memory; the others wait") {
  FakeSource source;
  RequestMetrics requests;
  MetricsHandler metrics{{}, source, requests};
  Readiness readiness;
  const auto flights = std::make_shared<Flights>();
  Flight large;
  large.faults.push_back({"0000:03:00.0", std::string(Api::kMostFlightBytes, 'x'), {}});
  for (int i = 0; i < 2; ++i) flights->add(large);
  for (int i = 0; i < 2; ++i) flights->add({});
  Routes routes("/metrics", metrics, source, requests, readiness, {}, {flights, {}});
  const auto get = [&](const std::string& path, const std::string& client = {}) {
    FakeRequest request;
    request.path_text = path;
    request.client_text = client;
    HttpResponse response;
    routes.handle(request, response);
    return response;
  };
  const HttpResponse small = get("/api/v1/flights/3.jsonl", "\x0a\x01\x01\x01");
  HttpResponse first = get("/api/v1/flights/1.jsonl");
  CHECK(first.status == 200);
  for (const char* path : {"/api/v1/flights/1.pftrace", "/api/v1/flights/2.jsonl", "/api/v1/flights/4.jsonl"}) {
    CAPTURE(path);
    const HttpResponse refused = get(path);
    CHECK(refused.status == 503);
    REQUIRE(refused.headers.size() == 1);
    CHECK(refused.headers[0].first == "Retry-After");
  }
  CHECK(get("/api/v1/flights/1.jsonl").status == 200);  // the same bytes
  CHECK(get("/api/v1/flights/3.jsonl").status == 200);
  CHECK(get("/api/v1/flights").status == 200);
  first = {};
  CHECK(get("/api/v1/flights/2.jsonl").status == 200);
}

TEST_CASE("the flights that are kept are listed, and each is served in two forms") {
  FakeSource source;
  RequestMetrics requests;
  MetricsHandler metrics{{}, source, requests};
  Readiness readiness;
  const auto flights = std::make_shared<Flights>();
  Flight flight;
  flight.event.cause = FlightCause::hang;
  flights->add(flight);
  Routes routes("/metrics", metrics, source, requests, readiness, {}, {flights, {}});
  const auto get = [&](const std::string& path) {
    FakeRequest request;
    request.path_text = path;
    HttpResponse response;
    routes.handle(request, response);
    return response;
  };
  CHECK(get("/api/v1/flights").body.starts_with("[{\"number\":1,\"cause\":\"hang\""));
  const HttpResponse lines = get("/api/v1/flights/1.jsonl");
  CHECK(lines.content().starts_with("{\"flight\":{\"number\":1"));
  CHECK(get("/api/v1/flights/1.jsonl").shared_body == lines.shared_body);  // however many clients read it
  CHECK(get("/api/v1/flights/1.pftrace").status == 200);
  CHECK(get("/api/v1/flights/1.pftrace").content_type == "application/octet-stream");
  for (const char* path :
       {"/api/v1/flights/", "/api/v1/flights/1", "/api/v1/flights/1.pftrace/", "/api/v1/flights/2.jsonl",
        "/api/v1/flights/-1.jsonl", "/api/v1/flights/99999999999999999999.jsonl", "/api/v1/flightsx"}) {
    CAPTURE(path);
    CHECK(get(path).status == 404);
  }
}
