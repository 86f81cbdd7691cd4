// SPDX-License-Identifier: Apache-2.0
#include "server/pages/metrics_handler.h"

#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/exposition_parser.h"
#include "support/fake_http.h"
#include "support/http_client.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace igpu::test;
using namespace std::chrono_literals;
using Names = std::vector<std::string>;

namespace {

const Names kKnown{"engines", "imc", "fdinfo"};
const Names kEnabled{"engines", "fdinfo"};

struct Page {
  FakeSource source;
  RequestMetrics requests;
  MetricsHandler handler{{}, source, requests};
  FakeRequest request;
  HttpResponse response;

  void get() {
    response = {};
    handler.handle(request, response);
  }
  std::string header(std::string_view name) const {
    for (const auto& [key, value] : response.headers) {
      if (key == name) return std::string(value);
    }
    return {};
  }
};

// Every call gets the present result; a call may be held back.
class SharingSource final : public ScrapeSource {
 public:
  std::function<void()> before_return;
  std::chrono::steady_clock::time_point asked_since;  // by the last call

  SharingSource() { renew(); }
  // The next calls get another result, whose value is one more.
  void renew() {
    const std::lock_guard lock(mutex_);
    auto result = std::make_shared<FakeScrape>();
    add_sample(result->list, kPageDevices, {}, ++value_);
    result_ = std::move(result);
  }
  double value() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }
  std::shared_ptr<const ScrapeResult> scrape(const ScrapeRequest& request) override {
    std::shared_ptr<const ScrapeResult> result;
    {
      const std::lock_guard lock(mutex_);
      asked_since = request.since;
      result = result_;
    }
    if (before_return) before_return();
    return result;
  }
  std::vector<Gpu> gpus() override { return {}; }
  std::vector<std::string> enabled_collectors() const override { return kEnabled; }

 private:
  mutable std::mutex mutex_;
  double value_ = 0;
  std::shared_ptr<const ScrapeResult> result_;
};

}  // namespace

TEST_SUITE_BEGIN("metrics_handler");

TEST_CASE("collect[] selects, exclude[] leaves out") {
  CHECK(chosen_collectors("", kKnown, kEnabled).all());
  CHECK(chosen_collectors("collect[]=fdinfo", kKnown, kEnabled) == CollectorSet::only({"fdinfo"}));
  CHECK(chosen_collectors("exclude[]=fdinfo", kKnown, kEnabled) == CollectorSet::only({"engines"}));
  CHECK(chosen_collectors("exclude[]=imc", kKnown, kEnabled) == CollectorSet::only({"engines", "fdinfo"}));
  CHECK(chosen_collectors("exclude[]=engines&exclude[]=fdinfo", kKnown, kEnabled) == CollectorSet::none());
}

TEST_CASE("an invalid selection is rejected with the reason") {
  CHECK_THROWS_WITH_AS(chosen_collectors("collect[]=nope", kKnown, kEnabled), "unknown collector: nope",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(chosen_collectors("exclude[]=nope", kKnown, kEnabled), "unknown collector: nope",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(chosen_collectors("collect[]=imc", kKnown, kEnabled), "disabled collector: imc",
                       std::invalid_argument);
  CHECK_THROWS_AS(chosen_collectors("collect[]=engines&exclude[]=fdinfo", kKnown, kEnabled), std::invalid_argument);
  CHECK_THROWS_AS(chosen_collectors("collect[]=", kKnown, kEnabled), std::invalid_argument);
}

TEST_CASE("a scrape gets a little less time than the scraper's timeout, and never more than the configured one") {
  CHECK(scrape_deadline("", 10s) == 10s);
  CHECK(scrape_deadline("4", 10s) == 3600ms);
  CHECK(scrape_deadline("8.0", 10s) == 7500ms);
  CHECK(scrape_deadline("0.1", 10s) == 90ms);
  CHECK(scrape_deadline("60", 10s) == 10s);
  CHECK(scrape_deadline("1e300", 10s) == 10s);
  for (const char* nonsense : {"0", "-1", "nan", "inf", "-inf", "1x", "x", " 1"}) {
    CAPTURE(nonsense);
    CHECK(scrape_deadline(nonsense, 10s) == 10s);
  }
}

TEST_CASE("the page has the scrape and the exporter's own metrics") {
  Page page;
  page.get();
  CHECK(page.response.status == 200);
  CHECK(page.response.content_type == "text/plain; version=0.0.4; charset=utf-8");
  CHECK(page.header("Vary") == "Accept, Accept-Encoding");
  const Exposition text = parse_prometheus_text(page.response.body);
  CHECK(text.value("test_devices") == 1);
  CHECK(text.value("intel_gpu_exporter_build_info") == 1);
  CHECK(text.value("intel_gpu_exporter_http_requests_total", {{"code", "200"}}) == 0);
  CHECK(*text.value("process_resident_memory_bytes") > 1e6);
}

TEST_CASE("the same samples are available as OpenMetrics, and compressed") {
  Page page;
  page.request.headers["Accept"] = "application/openmetrics-text; version=1.0.0";
  page.request.headers["Accept-Encoding"] = "gzip";
  for (int round = 0; round < 3; ++round) {  // buffers are reused
    page.get();
    CHECK(page.response.content_type.starts_with("application/openmetrics-text; version=1.0.0"));
    CHECK(page.header("Content-Encoding") == "gzip");
    CHECK(parse_openmetrics(gunzip(page.response.body)).value("test_devices") == 1);
  }
}

TEST_CASE("an invalid selection is a 400 and costs no scrape") {
  Page page;
  page.request.query_text = "collect[]=no-such-collector";
  page.get();
  CHECK(page.response.status == 400);
  CHECK(page.response.body == "unknown collector: no-such-collector\n");
  CHECK(page.source.scrapes == 0);
}

TEST_CASE("scrapes over the limit are answered 503 at once") {
  FakeSource source;
  RequestMetrics requests;
  MetricsHandler handler({.max_requests = 1}, source, requests);
  std::promise<void> started;
  std::promise<void> go_on;
  source.during = [&] {
    started.set_value();
    go_on.get_future().wait();
  };
  auto first = std::async(std::launch::async, [&] {
    HttpResponse response;
    handler.handle(FakeRequest(), response);
    return response.status;
  });
  started.get_future().wait();
  HttpResponse second;
  handler.handle(FakeRequest(), second);
  CHECK(second.status == 503);
  CHECK_FALSE(handler.drain(1ms));
  go_on.set_value();
  CHECK(first.get() == 200);
  CHECK(handler.drain(1s));
}

TEST_CASE("a scrape whose time was used up by others is a 503 with Retry-After") {
  Page page;
  page.source.too_late = true;
  page.get();
  CHECK(page.response.status == 503);
  CHECK(page.header("Retry-After") == "1");
  CHECK(page.handler.drain(1ms));
}

TEST_CASE("programs of one host are different clients, and one program is always the same") {
  Page page;
  page.request.headers["User-Agent"] = "Prometheus/2.42.0";
  page.get();
  const std::string prometheus = page.source.last.client;
  page.request.headers["User-Agent"] = std::string(100'000, 'x');
  page.get();
  CHECK(page.source.last.client != prometheus);
  CHECK(page.source.last.client.size() < 300);
  page.request.headers["User-Agent"] = "Prometheus/2.42.0";
  page.get();
  CHECK(page.source.last.client == prometheus);
}

TEST_CASE("what one program asks for makes different clients, and so does HEAD, which has no page") {
  Page page;
  page.get();
  const std::string whole = page.source.last.client;
  page.request.query_text = "collect[]=engines";
  page.get();
  CHECK(page.source.last.client != whole);
  page.request.query_text.clear();
  page.request.method_text = "HEAD";
  page.get();
  CHECK(page.source.last.client != whole);
}

TEST_CASE("a page that only one request can have is not kept for others") {
  struct OwnPages final : ScrapeSource {
    std::function<void()> during;
    std::shared_ptr<const ScrapeResult> scrape(const ScrapeRequest&) override {
      during();
      return std::make_shared<FakeScrape>();
    }
    std::vector<Gpu> gpus() override { return {}; }
    std::vector<std::string> enabled_collectors() const override { return kEnabled; }
  };
  OwnPages source;
  RequestMetrics requests;
  MetricsHandler handler({}, source, requests);
  FakeRequest request;
  HttpResponse first, second;
  int depth = 0;
  source.during = [&] {
    if (++depth == 1) handler.handle(request, second);
  };
  handler.handle(request, first);
  CHECK(depth == 2);
  CHECK(first.shared_body == nullptr);
  CHECK(second.shared_body == nullptr);
}

TEST_CASE("a scrape is notified that its client has disconnected") {
  Page page;
  std::stop_source gone;
  page.request.has_gone = gone.get_token();
  page.source.during = [&] {
    CHECK_FALSE(page.source.last.gone.stop_requested());
    gone.request_stop();
    CHECK(page.source.last.gone.stop_requested());
  };
  page.get();
  CHECK(page.source.scrapes == 1);
}

TEST_CASE("before a scrape is rejected, slots of disconnected clients are freed") {
  FakeSource source;
  RequestMetrics requests;
  MetricsHandler handler({.max_requests = 1}, source, requests);
  std::stop_source gone;
  std::promise<void> started;
  source.during = [&] {
    source.during = nullptr;
    started.set_value();
    while (!source.last.gone.stop_requested()) std::this_thread::sleep_for(1ms);
  };
  auto first = std::async(std::launch::async, [&] {
    FakeRequest request;
    request.has_gone = gone.get_token();
    HttpResponse response;
    handler.handle(request, response);
  });
  started.get_future().wait();
  FakeRequest second;
  second.on_notice_resets = [&] {
    gone.request_stop();
    first.wait();
  };
  HttpResponse response;
  handler.handle(second, response);
  CHECK(response.status == 200);
}

TEST_CASE("a scrape tries again if another one takes the free slot first") {
  FakeSource source;
  RequestMetrics requests;
  MetricsHandler handler({.max_requests = 1}, source, requests);
  // Each of them stays in its scrape until its client has disconnected.
  struct Visitor {
    std::stop_source gone;
    std::promise<void> started;
    std::future<void> done;
  };
  std::vector<std::unique_ptr<Visitor>> visitors;
  std::atomic<Visitor*> present{nullptr};
  source.during = [&] {
    Visitor* const visitor = present.exchange(nullptr);
    if (visitor == nullptr) return;
    visitor->started.set_value();
    while (!visitor->gone.stop_requested()) std::this_thread::yield();
  };
  const auto come = [&] {
    visitors.push_back(std::make_unique<Visitor>());
    Visitor& visitor = *visitors.back();
    present = &visitor;
    visitor.done = std::async(std::launch::async, [&handler, &visitor] {
      FakeRequest request;
      request.has_gone = visitor.gone.get_token();
      HttpResponse response;
      handler.handle(request, response);
    });
    visitor.started.get_future().wait();
  };
  const auto leave = [&] {
    visitors.back()->gone.request_stop();
    visitors.back()->done.wait();
  };
  come();
  FakeRequest good;
  good.on_notice_resets = [&] {
    leave();
    if (visitors.size() < 5) come();
  };
  HttpResponse response;
  handler.handle(good, response);
  CHECK(response.status == 200);
  CHECK(visitors.size() == 5);
}

TEST_CASE("when all slots are in use the answer is a 503 after one check") {
  FakeSource source;
  RequestMetrics requests;
  MetricsHandler handler({.max_requests = 1}, source, requests);
  std::promise<void> started, end;
  source.during = [&] {
    started.set_value();
    end.get_future().wait();
  };
  auto first = std::async(std::launch::async, [&] {
    HttpResponse response;
    handler.handle(FakeRequest(), response);
  });
  started.get_future().wait();
  int notices = 0;
  FakeRequest second;
  second.on_notice_resets = [&] { ++notices; };
  HttpResponse response;
  handler.handle(second, response);
  CHECK(response.status == 503);
  CHECK(notices == 1);
  end.set_value();
  first.wait();
}

TEST_CASE("requests that share a scrape share its page, one for each form") {
  SharingSource source;
  RequestMetrics requests;
  MetricsHandler handler({}, source, requests);
  FakeRequest plain, packed, open;
  packed.headers["Accept-Encoding"] = "gzip";
  open.headers["Accept"] = "application/openmetrics-text; version=1.0.0";
  HttpResponse first, same, compressed, other;
  // Each request runs inside the scrape of the one before it, so all of them share one result.
  int depth = 0;
  source.before_return = [&] {
    switch (++depth) {
      case 1: return handler.handle(plain, same);
      case 2: return handler.handle(packed, compressed);
      case 3: return handler.handle(open, other);
      default: return;
    }
  };
  handler.handle(plain, first);
  REQUIRE(depth == 4);
  CHECK(first.shared_body != nullptr);
  CHECK(first.shared_body == same.shared_body);
  CHECK(first.content_type == same.content_type);
  CHECK(first.headers == same.headers);
  CHECK(parse_prometheus_text(std::string(first.content())).value("test_devices") == 1);
  CHECK(parse_prometheus_text(gunzip(std::string(compressed.content()))).value("test_devices") == 1);
  CHECK(parse_openmetrics(std::string(other.content())).value("test_devices") == 1);

  first = {};
  handler.handle(plain, first);  // alone
  CHECK(first.shared_body == nullptr);
  CHECK(parse_prometheus_text(first.body).value("test_devices") == 1);
}

TEST_CASE("a page is kept for requests that arrived with its own and are answered after it") {
  SharingSource source;
  RequestMetrics requests;
  MetricsHandler handler({}, source, requests);
  FakeRequest first, last;
  first.arrived = last.arrived = {std::chrono::steady_clock::now()};
  first.arrived.others_wait = true;
  HttpResponse one, other, later;
  handler.handle(first, one);
  handler.handle(last, other);
  CHECK(one.shared_body != nullptr);
  CHECK(one.shared_body == other.shared_body);
  CHECK(source.asked_since == last.arrived.time);
  handler.handle(last, later);  // it was kept no longer
  CHECK(later.shared_body == nullptr);
}

TEST_CASE("no request gets a page of a result from before it arrived") {
  SharingSource source;
  RequestMetrics requests;
  MetricsHandler handler({}, source, requests);
  std::atomic<int> stale = 0, pages = 0;
  std::vector<std::thread> clients;
  for (int client = 0; client < 6; ++client) {
    clients.emplace_back([&, client] {
      HttpResponse response;
      FakeRequest request;
      if (client % 2 != 0) request.headers["Accept-Encoding"] = "gzip";
      for (int i = 0; i < 100; ++i) {
        if (i % 4 == client % 4) source.renew();
        response = {};
        const double at_least = source.value();
        handler.handle(request, response);
        const std::string body(response.content());
        const Exposition page = parse_prometheus_text(client % 2 != 0 ? gunzip(body) : body);
        ++pages;
        if (!(page.value("test_devices") >= at_least)) ++stale;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  CHECK(pages == 600);
  CHECK(stale == 0);
}

TEST_CASE("a scrape that throws frees its slot") {
  FakeSource source;
  RequestMetrics requests;
  MetricsHandler handler({.max_requests = 1}, source, requests);
  source.during = [] { throw std::runtime_error("broken"); };
  HttpResponse response;
  for (int i = 0; i < 3; ++i) CHECK_THROWS_AS(handler.handle(FakeRequest(), response), std::runtime_error);
  source.during = nullptr;
  handler.handle(FakeRequest(), response);
  CHECK(response.status == 200);
}

TEST_SUITE_END();
