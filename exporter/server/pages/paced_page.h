// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "igpu/monitor.h"
#include "server/http/message.h"
#include "server/pages/metrics_handler.h"

namespace igpu::exporter {

// Pages that many clients poll, each another form of the same reading: at most one scrape a second serves all of them,
// and there is no scrape without a request. A client gets a page whose scrape began at most a second ago, or, while
// another client's scrape is running, at most three. Thread-safe.
class PacedPage {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  // begun: the wall-clock time at which the scrape began. Several threads may call it at the same time.
  using Write = std::function<void(const ScrapeResult&, std::chrono::system_clock::time_point begun, std::string& out)>;

  // A form is written for the first client that requests it. metrics must outlive the page.
  PacedPage(MetricsHandler& metrics, std::string_view content_type, std::vector<Write> forms,
            Clock clock = std::chrono::steady_clock::now)
      : metrics_(metrics), content_type_(content_type), forms_(std::move(forms)), clock_(std::move(clock)) {}

  // form: the index in `forms`.
  void answer(std::size_t form, const HttpRequest& request, HttpResponse& response);

  using Bytes = std::shared_ptr<const std::string>;
  struct Reading {
    std::chrono::steady_clock::time_point begun;
    Bytes text;  // null: the response has the reason
  };
  // The page that answer() would send.
  Reading latest(std::size_t form, const HttpRequest& request, HttpResponse& response);

 private:
  struct Texts {
    std::mutex mutex;         // a form that is slow to write delays no client of another one
    Bytes plain, compressed;  // null until a client requests or accepts it
  };
  struct Page {
    explicit Page(std::size_t form_count) : forms(form_count) {}

    std::chrono::steady_clock::time_point begun;
    std::chrono::system_clock::time_point time;  // of the same moment
    std::shared_ptr<const ScrapeResult> result;
    std::vector<Texts> forms;
  };
  class Turn;

  std::shared_ptr<Page> find(const HttpRequest& request, HttpResponse& response);
  Bytes text_of(std::size_t form, Page& page) const;
  static Bytes compressed_text_of(Texts& texts, const std::string& plain);

  MetricsHandler& metrics_;
  const std::string_view content_type_;
  const std::vector<Write> forms_;
  const Clock clock_;
  std::mutex mutex_;            // guards what follows
  std::shared_ptr<Page> last_;  // null before the first page
  bool scraping_ = false;       // for the next one
};

}  // namespace igpu::exporter
