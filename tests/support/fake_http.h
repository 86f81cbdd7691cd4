// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <stdexcept>
#include <stop_token>
#include <string>

#include "server/http/message.h"
#include "server/pages/in_flight.h"
#include "support/sample_page.h"

namespace igpu::test {

// A request that was never sent.
struct FakeRequest final : exporter::HttpRequest {
  std::string method_text = "GET";
  std::string path_text = "/metrics";
  std::string query_text;
  std::map<std::string, std::string> headers;
  std::string client_text;
  exporter::Arrival arrived;

  std::stop_token has_gone;
  std::function<void()> on_notice_resets;

  exporter::Arrival arrival() const override { return arrived; }
  std::stop_token gone() const override { return has_gone; }
  void notice_resets() const override {
    if (on_notice_resets) on_notice_resets();
  }
  std::string_view method() const override { return method_text; }
  std::string_view path() const override { return path_text; }
  std::string_view client() const override { return client_text; }
  std::string_view query() const override { return query_text; }
  std::string_view header(std::string_view name) const override {
    const auto it = headers.find(std::string(name));
    return it == headers.end() ? std::string_view() : std::string_view(it->second);
  }
  bool has_header(std::string_view name) const override { return headers.contains(std::string(name)); }
  std::string list_header(std::string_view name) const override { return std::string(header(name)); }
};

class FakeScrape final : public ScrapeResult {
 public:
  SampleList list;
  std::vector<Finding> missing;
  std::span<const SampleList* const> lists() const override { return {&pointer_, 1}; }
  std::span<const Finding> findings() const override { return missing; }
  std::span<const std::string_view> failed_collectors() const override { return {}; }

 private:
  const SampleList* pointer_ = &list;
};

// Always the same small page; records the requests.
class FakeSource final : public exporter::ScrapeSource {
 public:
  std::vector<std::string> enabled{"engines", "fdinfo"};
  ScrapeRequest last;
  std::atomic<int> scrapes = 0;
  std::function<void()> during;                   // runs inside a scrape
  std::function<void(SampleList&)> more_samples;  // beside that of the small page
  bool too_late = false;                          // its deadline is over before it begins

  std::shared_ptr<const ScrapeResult> scrape(const ScrapeRequest& request) override {
    ++scrapes;
    last = request;
    if (const auto run = during) run();
    if (too_late) return nullptr;
    auto result = std::make_shared<FakeScrape>();
    add_sample(result->list, kPageDevices, {}, 1);
    if (more_samples) more_samples(result->list);
    return result;
  }
  std::vector<Gpu> gpus() override { return {}; }
  std::vector<std::string> enabled_collectors() const override { return enabled; }
};

}  // namespace igpu::test
