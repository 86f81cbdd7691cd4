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

// A page that many clients poll: at most one scrape a second serves all of them, and there is no scrape without a
// request. A client gets a page whose scrape began at most a second ago, or, while another client's scrape a scrape for
// the next page is running is running, at most three. Thread-safe.
class PacedPage {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  // begun: the wall-clock time at which the scrape began. Pages that are made concurrently may finish in any order.
  using Write = std::function<void(const ScrapeResult&, std::chrono::system_clock::time_point begun, std::string& out)>;

  // metrics must outlive the page.
  PacedPage(MetricsHandler& metrics, std::string_view content_type, Write write,
            Clock clock = std::chrono::steady_clock::now)
      : metrics_(metrics), content_type_(content_type), write_(std::move(write)), clock_(std::move(clock)) {}

  void answer(const HttpRequest& request, HttpResponse& response);

  using Bytes = std::shared_ptr<const std::string>;
  struct Reading {
    std::chrono::steady_clock::time_point begun;
    Bytes text;  // null: the response has the reason
  };
  // The page that answer() would send.
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
  std::shared_ptr<Page> last_;  // null before the first page
  bool scraping_ = false;       // for the next one
};

}  // namespace igpu::exporter
