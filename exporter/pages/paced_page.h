// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "http/message.h"
#include "igpu/monitor.h"
#include "pages/metrics_handler.h"

namespace igpu::exporter {

// A page of which many clients want the latest, again and again: one scrape a second serves them all, and nothing is
// scraped while nobody asks. A client gets a page whose scrape began at most a second ago, or, while another client's
// scrape for the next one is running, at most three. Thread-safe.
class PacedPage {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  // begun: when the scrape did, by the wall clock; pages that are made side by side end in any order.
  using Write = std::function<void(const ScrapeResult&, std::chrono::system_clock::time_point begun, std::string& out)>;

  // metrics must outlive the page.
  PacedPage(MetricsHandler& metrics, std::string_view content_type, Write write,
            Clock clock = std::chrono::steady_clock::now)
      : metrics_(metrics), content_type_(content_type), write_(std::move(write)), clock_(std::move(clock)) {}

  void answer(const HttpRequest& request, HttpResponse& response);

  using Bytes = std::shared_ptr<const std::string>;
  struct Reading {
    std::chrono::steady_clock::time_point begun;
    Bytes text;  // null: there is none, and the response holds the reason
  };
  // What answer() sends.
  Reading latest(const HttpRequest& request, HttpResponse& response);

 private:
  struct Page {
    std::chrono::steady_clock::time_point begun;
    Bytes plain, compressed;  // compressed: null until a client accepts it
  };
  class Turn;

  std::shared_ptr<Page> find(const HttpRequest& request, HttpResponse& response);
  void deliver(const std::shared_ptr<Page>& page, const HttpRequest& request, HttpResponse& response);

  MetricsHandler& metrics_;
  const std::string_view content_type_;
  const Write write_;
  const Clock clock_;
  std::mutex mutex_;            // guards what follows, and the compressed bytes of pages
  std::shared_ptr<Page> last_;  // null: none yet
  bool scraping_ = false;       // for the next one
};

}  // namespace igpu::exporter
