// SPDX-License-Identifier: Apache-2.0
#include "pages/routes.h"

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

  HttpResponse get(const std::string& path, const std::string& method = "GET") {
    FakeRequest request;
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
  for (const char* path :
       {"/metrics/", "/metricsx", "/metrics/x", "/Metrics", "/x", "", "/-/", "/-/healthy/", "/favicon.ico"}) {
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
  CHECK(site.get("/-/healthy").status == 200);
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
