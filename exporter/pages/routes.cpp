// SPDX-License-Identifier: Apache-2.0
#include "pages/routes.h"

#include "pages/index_page.h"

namespace igpu::exporter {

Routes::Routes(std::string telemetry_path, MetricsHandler& metrics, ScrapeSource& source, RequestMetrics& requests,
               const Readiness& readiness)
    : telemetry_path_(std::move(telemetry_path)),
      metrics_(metrics),
      source_(source),
      requests_(requests),
      readiness_(readiness) {}

void Routes::handle(const HttpRequest& request, HttpResponse& response) {
  const std::string_view path = request.path();
  const bool metrics = path == telemetry_path_;
  if (!metrics && path != "/" && path != "/-/healthy" && path != "/-/ready") {
    response.fail(404, "not found");
    return;
  }
  if (request.method() != "GET" && request.method() != "HEAD") {
    response.fail(405, "only GET and HEAD are answered here");
    response.headers.emplace_back("Allow", "GET, HEAD");
    return;
  }
  if (metrics || path == "/") {
    if (readiness_.state() == Readiness::State::draining) {
      response.fail(503, "shutting down");
    } else if (metrics) {
      metrics_.handle(request, response);
    } else {
      index(request, response);
    }
  } else if (path == "/-/ready") {
    ready(response);
  } else {
    response.body = "healthy\n";
  }
}

void Routes::index(const HttpRequest& request, HttpResponse& response) {
  const std::shared_ptr<const ScrapeResult> result = metrics_.scrape_all(request, response);
  if (!result) return;
  response.content_type = "text/html; charset=utf-8";
  response.headers.emplace_back("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'");
  response.body = index_page(telemetry_path_, source_.gpus(), result->findings(), PageView(result->lists()));
}

void Routes::ready(HttpResponse& response) const {
  switch (readiness_.state()) {
    case Readiness::State::ready:
      response.body = "ready\n";
      return;
    case Readiness::State::starting:
      response.fail(503, "starting");
      return;
    case Readiness::State::draining:
      response.fail(503, "shutting down");
      return;
  }
}

}  // namespace igpu::exporter
