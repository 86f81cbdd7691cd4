// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/page.h"
#include "server/http/message.h"
#include "server/pages/in_flight.h"
#include "server/pages/scrape_source.h"
#include "server/pages/shared_pages.h"
#include "server/self/own_metrics.h"
#include "view/format/negotiation.h"

namespace igpu::exporter {

struct MetricsHandlerOptions {
  unsigned max_requests = 40;                      // 0: no limit
  Nanoseconds timeout = std::chrono::seconds(10);  // for one scrape
  bool exporter_metrics = true;                    // process_*, requests
  AddMetrics more{};                               // metrics of other parts
};

// GET on the telemetry path: scrapes, serializes, compresses.
class MetricsHandler {
 public:
  // All of them must outlive the handler.
  MetricsHandler(const MetricsHandlerOptions& options, ScrapeSource& source, const RequestMetrics& requests);
  ~MetricsHandler();
  MetricsHandler(const MetricsHandler&) = delete;
  MetricsHandler& operator=(const MetricsHandler&) = delete;

  void handle(const HttpRequest& request, HttpResponse& response);

  // A scrape for another page, subject to the same limits. Null: the response has the reason.
  std::shared_ptr<const ScrapeResult> scrape_for(const HttpRequest& request, HttpResponse& response,
                                                 CollectorSet collectors = {});

  // Scrapes now and passes the page to `use`: for readers other than HTTP clients, so the limit of requests does not
  // apply. False: the scrape did not finish in time, or `gone` was stopped.
  bool read(std::stop_token gone, const std::function<void(const PageView&)>& use);

  // Waits for running scrapes; false if some are still running.
  bool drain(std::chrono::milliseconds at_most) { return in_flight_.wait_until_idle(at_most); }

 private:
  struct Workspace;
  std::unique_ptr<Workspace> take_workspace();
  void give_back(std::unique_ptr<Workspace> workspace);
  InFlight::Slot enter(const HttpRequest& request, HttpResponse& response);
  std::shared_ptr<const ScrapeResult> scrape(ScrapeRequest wanted, const InFlight::Slot& slot, HttpResponse& response);
  // Adds the exporter's own metrics to a result.
  void add_own(const ScrapeResult& result, Workspace& workspace);
  void render(const ScrapeResult& result, Format format, bool compressed, std::string& out);

  MetricsHandlerOptions options_;
  ScrapeSource& source_;
  const RequestMetrics& requests_;
  ProcessMetrics process_;
  InFlight in_flight_;
  SharedPages pages_;
  std::vector<std::string> known_;  // collectors that can be requested
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> spare_;
};

// The collectors that collect[] and exclude[] select. Throws std::invalid_argument with the reason (a 400).
CollectorSet chosen_collectors(std::string_view query, const std::vector<std::string>& known,
                               const std::vector<std::string>& enabled);

// Time for the scrape: the shorter of the program's own limit and a little less than the caller's
// X-Prometheus-Scrape-Timeout-Seconds, so that a page without the late collector arrives in time. Invalid values are
// ignored.
Nanoseconds scrape_deadline(std::string_view timeout_header, Nanoseconds limit);

}  // namespace igpu::exporter
