// SPDX-License-Identifier: Apache-2.0
#include "http/metrics_handler.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "format/gzip.h"
#include "format/negotiation.h"
#include "format/openmetrics.h"
#include "format/prometheus_text.h"
#include "http/query.h"
#include "self/build_info.h"
#include "self/process_metrics.h"

namespace igpu::exporter {
namespace {

bool contains(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

std::vector<std::string> chosen_collectors(std::string_view query, const std::vector<std::string>& known,
                                           const std::vector<std::string>& enabled) {
  std::vector<std::string> collect = query_values(query, "collect[]");
  const std::vector<std::string> exclude = query_values(query, "exclude[]");
  if (!collect.empty() && !exclude.empty()) {
    throw std::invalid_argument("collect[] and exclude[] exclude each other");
  }
  for (const std::vector<std::string>* list : {&std::as_const(collect), &exclude}) {
    for (const std::string& name : *list) {
      if (!contains(known, name)) throw std::invalid_argument("unknown collector: " + name);
    }
  }
  for (const std::string& name : collect) {
    if (!contains(enabled, name)) throw std::invalid_argument("disabled collector: " + name);
  }
  if (exclude.empty()) return collect;
  for (const std::string& name : enabled) {
    if (!contains(exclude, name)) collect.push_back(name);
  }
  return collect;
}

Nanoseconds scrape_deadline(std::string_view timeout_header, Nanoseconds limit) {
  double seconds = 0;
  const auto [end, error] =
      std::from_chars(timeout_header.data(), timeout_header.data() + timeout_header.size(), seconds);
  if (error != std::errc() || end != timeout_header.data() + timeout_header.size() || !(seconds > 0)) return limit;
  const double usable = std::max(seconds * 0.9, seconds - 0.5);
  const double bounded = std::min(usable, std::chrono::duration<double>(limit).count());
  return std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(bounded));
}

MetricsHandler::MetricsHandler(const MetricsHandlerOptions& options, ScrapeSource& source,
                               const RequestMetrics& requests)
    : options_(options), source_(source), requests_(requests), in_flight_(options.max_requests) {
  for (const CollectorDescription& collector : describe_collectors()) known_.emplace_back(collector.name);
}

void MetricsHandler::handle(const HttpRequest& request, HttpResponse& response) {
  const InFlight::Slot slot = in_flight_.enter();
  if (!slot) {
    response.fail(503, "too many scrapes at once (--web.max-requests)");
    return;
  }
  ScrapeRequest scrape;
  try {
    scrape.collectors = chosen_collectors(request.query(), known_, source_.enabled_collectors());
  } catch (const std::invalid_argument& error) {
    response.fail(400, error.what());
    return;
  }
  scrape.deadline = scrape_deadline(request.header("X-Prometheus-Scrape-Timeout-Seconds"), options_.timeout);
  const std::shared_ptr<const ScrapeResult> result = source_.scrape(scrape);

  SampleList own;
  add_build_info(own);
  if (options_.exporter_metrics) {
    requests_.add_to(own);
    add_process_metrics(own);
  }
  std::vector<const SampleList*> lists(result->lists().begin(), result->lists().end());
  lists.push_back(&own);
  const PageView page(lists);

  render(page, request, response);
}

}  // namespace igpu::exporter
