// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "server/pages/routes.h"
#include "support/fake_http.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

struct Paced {
  FakeSource source;
  RequestMetrics requests;
  MetricsHandler metrics{{.max_requests = 1}, source, requests};
  std::chrono::steady_clock::time_point now{100s};
  int written = 0, written_short = 0;
  std::function<void()> while_writing;  // the second form
  PacedPage page{metrics,
                 "application/json",
                 {[this](const ScrapeResult&, auto, std::string& out) { out = "page " + std::to_string(++written); },
                  [this](const ScrapeResult&, auto, std::string& out) {
                    if (while_writing) while_writing();
                    out = "p" + std::to_string(++written_short);
                  }},
                 [this] { return now; }};

  HttpResponse get(const std::string& encoding = "", std::size_t form = 0) {
    FakeRequest request;
    request.headers["Accept-Encoding"] = encoding;
    HttpResponse response;
    page.answer(form, request, response);
    return response;
  }
};

}  // namespace

TEST_SUITE_BEGIN("paced_page");

TEST_CASE("fifty clients in a second cost one scrape, and none is scraped for nobody") {
  Paced paced;
  CHECK(paced.source.scrapes == 0);
  for (int client = 0; client < 50; ++client) CHECK(paced.get().content() == "page 1");
  CHECK(paced.source.scrapes == 1);
  paced.now += 999ms;
  CHECK(paced.get().content() == "page 1");
  paced.now += 1ms;
  CHECK(paced.get().content() == "page 2");
  CHECK(paced.source.scrapes == 2);
}

TEST_CASE("while one client's scrape runs, the others get the last page, unless it is too old") {
  Paced paced;
  CHECK(paced.get().content() == "page 1");
  paced.now += 2s;
  HttpResponse meanwhile;
  paced.source.during = [&] {
    paced.source.during = nullptr;
    meanwhile = paced.get();
  };
  CHECK(paced.get().content() == "page 2");
  CHECK(meanwhile.content() == "page 1");
  paced.now += 3s;
  paced.source.during = [&] {
    paced.source.during = nullptr;
    meanwhile = paced.get();  // scrapes as well: here --web.max-requests=1 refuses it
  };
  CHECK(paced.get().content() == "page 3");
  CHECK(meanwhile.status == 503);
}

TEST_CASE("a scrape that fails is not kept, and the next client's may succeed") {
  Paced paced;
  paced.source.too_late = true;
  CHECK(paced.get().status == 503);
  paced.source.too_late = false;
  CHECK(paced.get().content() == "page 1");
  paced.now += 2s;
  paced.source.during = [] { throw std::runtime_error("it cannot be read"); };
  CHECK_THROWS(paced.get());
  paced.source.during = nullptr;
  CHECK(paced.get().content() == "page 2");
}

TEST_CASE("two forms of a page are of the same scrape, and each is written once") {
  Paced paced;
  for (int client = 0; client < 3; ++client) {
    CHECK(paced.get().content() == "page 1");
    CHECK(paced.get("", 1).content() == "p1");
    CHECK(paced.get("gzip", 1).content() != paced.get("gzip", 0).content());
  }
  CHECK(paced.source.scrapes == 1);
  paced.now += 1s;
  CHECK(paced.get("", 1).content() == "p2");
  CHECK(paced.written == 1);
  CHECK(paced.source.scrapes == 2);
}

TEST_CASE("while one form is written, clients of another one are served") {
  Paced paced;
  std::string meanwhile;
  paced.while_writing = [&] { meanwhile = paced.get().content(); };
  CHECK(paced.get("", 1).content() == "p1");
  CHECK(meanwhile == "page 1");
}

TEST_CASE("compressed for those who accept it, once") {
  Paced paced;
  CHECK(paced.get().content() == "page 1");
  const HttpResponse first = paced.get("gzip"), second = paced.get("gzip");
  CHECK(first.content().starts_with("\x1f\x8b"));
  CHECK(first.shared_body == second.shared_body);
  CHECK(paced.get("identity").content() == "page 1");
}

TEST_SUITE_END();
