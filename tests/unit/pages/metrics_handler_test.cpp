// SPDX-License-Identifier: Apache-2.0
#include "pages/metrics_handler.h"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>
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
    response.clear();
    handler.handle(request, response);
  }
  std::string header(std::string_view name) const {
    for (const auto& [key, value] : response.headers) {
      if (key == name) return std::string(value);
    }
    return {};
  }
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

TEST_CASE("process_* and request counters can be left out, build info cannot") {
  FakeSource source;
  RequestMetrics requests;
  MetricsHandler handler({.exporter_metrics = false}, source, requests);
  HttpResponse response;
  handler.handle(FakeRequest(), response);
  const Exposition text = parse_prometheus_text(response.body);
  CHECK(text.families.size() == 2);
  CHECK(text.value("intel_gpu_exporter_build_info") == 1);
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
