// SPDX-License-Identifier: Apache-2.0
#include "pages/paced_page.h"

#include <utility>

#include "format/gzip.h"
#include "format/negotiation.h"

namespace igpu::exporter {
namespace {

using std::chrono::seconds;

constexpr seconds kFresh(1);
constexpr seconds kOldest(3);  // while another client's scrape is running

}  // namespace

// Of the one client that scrapes for the others.
class PacedPage::Turn {
 public:
  // Requires the lock.
  explicit Turn(PacedPage& page) : page_(page), mine_(!std::exchange(page.scraping_, true)) {}
  ~Turn() {
    if (!mine_) return;
    const std::lock_guard lock(page_.mutex_);
    page_.scraping_ = false;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  PacedPage& page_;
  const bool mine_;
};

void PacedPage::answer(const HttpRequest& request, HttpResponse& response) {
  if (const std::shared_ptr<Page> page = find(request, response)) deliver(page, request, response);
}

PacedPage::Reading PacedPage::latest(const HttpRequest& request, HttpResponse& response) {
  const std::shared_ptr<Page> page = find(request, response);
  return page ? Reading{page->begun, page->plain} : Reading{};
}

// Null: the response holds the reason.
std::shared_ptr<PacedPage::Page> PacedPage::find(const HttpRequest& request, HttpResponse& response) {
  std::unique_lock lock(mutex_);
  const auto begun = clock_();
  if (last_) {
    const auto age = begun - last_->begun;
    if (age < kFresh || (scraping_ && age < kOldest)) return last_;
  }
  const Turn turn(*this);
  lock.unlock();
  const auto time = std::chrono::system_clock::now();
  const std::shared_ptr<const ScrapeResult> result = metrics_.scrape_for(request, response);
  if (!result) return nullptr;
  std::string text;
  write_(*result, time, text);
  auto page = std::make_shared<Page>(Page{begun, std::make_shared<const std::string>(std::move(text)), {}});
  lock.lock();
  if (!last_ || last_->begun < begun) last_ = page;  // a later one may have been quicker
  page = last_;
  lock.unlock();
  return page;
}

void PacedPage::deliver(const std::shared_ptr<Page>& page, const HttpRequest& request, HttpResponse& response) {
  response.content_type = content_type_;
  response.headers.emplace_back("Vary", "Accept-Encoding");
  response.shared_body = page->plain;
  if (!accepts_gzip(request.list_header("Accept-Encoding"))) return;
  const auto kept = [&] {
    const std::lock_guard lock(mutex_);
    return page->compressed;
  };
  Bytes compressed = kept();
  if (!compressed) {
    std::string out;
    Gzip().compress(*page->plain, out);
    compressed = std::make_shared<const std::string>(std::move(out));
    const std::lock_guard lock(mutex_);
    page->compressed = compressed;
  }
  response.headers.emplace_back("Content-Encoding", "gzip");
  response.shared_body = std::move(compressed);
}

}  // namespace igpu::exporter
