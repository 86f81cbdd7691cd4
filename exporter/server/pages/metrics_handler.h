// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "igpu/monitor.h"
#include "igpu/page.h"
#include "server/http/message.h"
#include "server/pages/in_flight.h"
#include "server/self/own_metrics.h"
#include "view/format/text_writer.h"

namespace igpu::exporter {

// The finished pages of one scrape, for requests that share its result: one of them writes and compresses the page, the
// others send the same bytes. The page is never older than a request that shares it, because it is written only after
// its result is complete, and later requests do not get that result. Thread-safe; no request waits for another's page.
class SharedPages {
 public:
  using Result = std::shared_ptr<const ScrapeResult>;
  using Bytes = std::shared_ptr<const std::string>;
  struct Form {
    std::string_view content_type;  // of static duration
    bool compressed = false;
    bool operator==(const Form&) const = default;
  };

  // Null: no request has kept that page.
  Bytes find(const Result& result, const Form& form) const {
    const std::lock_guard lock(mutex_);
    if (!is_of(result)) return nullptr;
    const auto page = std::ranges::find_if(pages_, [&](const auto& kept) { return kept.first == form; });
    return page == pages_.end() ? nullptr : page->second;
  }

  // Replaces the pages of other results.
  void keep(const Result& result, const Form& form, Bytes page) {
    Pages dropped;  // freed after the lock is released
    const std::lock_guard lock(mutex_);
    if (!is_of(result)) {
      dropped.swap(pages_);
      result_ = result;
    }
    pages_.emplace_back(form, std::move(page));
  }

  void clear() {
    Pages dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(pages_);
    result_.reset();
  }

 private:
  using Pages = std::vector<std::pair<Form, Bytes>>;

  // Compares owners: a later result may have the address of an earlier one. Requires the lock.
  bool is_of(const Result& result) const { return !result_.owner_before(result) && !result.owner_before(result_); }

  mutable std::mutex mutex_;
  std::weak_ptr<const ScrapeResult> result_;  // weak: the next scrape reuses its memory
  Pages pages_;
};

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
  InFlight::Slot enter(const HttpRequest& request, HttpResponse& response);
  std::shared_ptr<const ScrapeResult> scrape(ScrapeRequest wanted, const InFlight::Slot& slot, HttpResponse& response);
  // Passes the page of a result and the exporter's own metrics to `use`.
  void with_own(const ScrapeResult& result, const std::function<void(const PageView&)>& use);
  void render(const ScrapeResult& result, Format format, bool compressed, std::string& out);

  MetricsHandlerOptions options_;
  ScrapeSource& source_;
  const RequestMetrics& requests_;
  ProcessMetrics process_;
  InFlight in_flight_;
  SharedPages pages_;
  std::vector<std::string> known_;  // collectors that can be requested
  std::mutex mutex_;
  std::unique_ptr<Gzip> gzip_;  // kept for the next response: fresh memory for it costs a tenth of a scrape
};

// The collectors that collect[] and exclude[] select. Throws std::invalid_argument with the reason (a 400).
CollectorSet chosen_collectors(std::string_view query, const std::vector<std::string>& known,
                               const std::vector<std::string>& enabled);

// Time for the scrape: the shorter of the program's own limit and a little less than the caller's
// X-Prometheus-Scrape-Timeout-Seconds, so that a page without the late collector arrives in time. Invalid values are
// ignored.
Nanoseconds scrape_deadline(std::string_view timeout_header, Nanoseconds limit);

}  // namespace igpu::exporter
