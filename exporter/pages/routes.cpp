// SPDX-License-Identifier: Apache-2.0
#include "pages/routes.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "http/query.h"
#include "igpu/model.h"
#include "pages/index_page.h"

namespace igpu::exporter {
namespace {

constexpr std::string_view kHealth = "health";

}  // namespace

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
    ready(request, response);
  } else {
    response.body = "healthy\n";
  }
}

void Routes::index(const HttpRequest& request, HttpResponse& response) {
  const std::shared_ptr<const ScrapeResult> result = metrics_.scrape_for(request, response);
  if (!result) return;
  response.content_type = "text/html; charset=utf-8";
  response.headers.emplace_back("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'");
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  response.body =
      index_page(telemetry_path_, source_.gpus(), result->findings(), PageView(result->lists()), Seconds{now.count()});
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
  if (std::find(enabled.begin(), enabled.end(), kHealth) == enabled.end()) {
    response.body = "ready; the health of GPUs is not watched (--no-collector.health)\n";
    return;
  }
  const auto result = metrics_.scrape_for(request, response, CollectorSet::only({std::string(kHealth)}));
  if (!result) return;
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
