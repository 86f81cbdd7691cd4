// SPDX-License-Identifier: Apache-2.0
#include "server/pages/paced_page.h"

#include <utility>

#include "view/format/gzip.h"
#include "view/format/negotiation.h"

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

void PacedPage::answer(std::size_t form, const HttpRequest& request, HttpResponse& response) {
  const std::shared_ptr<Page> page = find(request, response);
  if (!page) return;
  Bytes text = text_of(form, *page);
  response.content_type = content_type_;
  response.headers.emplace_back("Vary", "Accept-Encoding");
  if (accepts_gzip(request.list_header("Accept-Encoding"))) {
    text = compressed_text_of(page->forms[form], *text);
    response.headers.emplace_back("Content-Encoding", "gzip");
  }
  response.shared_body = std::move(text);
}

PacedPage::Reading PacedPage::latest(std::size_t form, const HttpRequest& request, HttpResponse& response) {
  const std::shared_ptr<Page> page = find(request, response);
  return page ? Reading{page->begun, text_of(form, *page)} : Reading{};
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
  auto page = std::make_shared<Page>(forms_.size());
  page->begun = begun;
  page->time = std::chrono::system_clock::now();
  page->result = metrics_.scrape_for(request, response);
  if (!page->result) return nullptr;
  const std::lock_guard again(mutex_);
  if (!last_ || last_->begun < begun) last_ = std::move(page);  // a later one may have been quicker
  return last_;
}

PacedPage::Bytes PacedPage::text_of(std::size_t form, Page& page) const {
  Texts& texts = page.forms[form];
  const std::lock_guard lock(texts.mutex);
  if (!texts.plain) {
    std::string text;
    forms_[form](*page.result, page.time, text);
    texts.plain = std::make_shared<const std::string>(std::move(text));
  }
  return texts.plain;
}

PacedPage::Bytes PacedPage::compressed_text_of(Texts& texts, const std::string& plain) {
  const std::lock_guard lock(texts.mutex);
  if (!texts.compressed) {
    std::string out;
    Gzip().compress(plain, out);
    texts.compressed = std::make_shared<const std::string>(std::move(out));
  }
  return texts.compressed;
}

}  // namespace igpu::exporter
