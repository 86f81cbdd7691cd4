// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "server/pages/metrics_handler.h"
#include "support/fake_http.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace igpu::test;

namespace {

constexpr SharedPages::Form kText{"text/plain", false};

SharedPages::Bytes bytes(const char* text) { return std::make_shared<const std::string>(text); }

}  // namespace

TEST_SUITE_BEGIN("shared_pages");

TEST_CASE("a kept page is found for its result and form only") {
  SharedPages pages;
  const auto result = std::make_shared<FakeScrape>();
  const auto page = bytes("page");
  CHECK(pages.find(result, kText) == nullptr);
  pages.keep(result, kText, page);
  pages.keep(result, {"text/plain", true}, bytes("compressed"));
  CHECK(pages.find(result, kText) == page);
  CHECK(*pages.find(result, {"text/plain", true}) == "compressed");
  CHECK(pages.find(result, {"application/openmetrics-text", false}) == nullptr);
  CHECK(pages.find(std::make_shared<FakeScrape>(), kText) == nullptr);
}

TEST_CASE("the pages of another result replace those kept before") {
  SharedPages pages;
  const auto earlier = std::make_shared<FakeScrape>(), later = std::make_shared<FakeScrape>();
  const auto page = bytes("earlier");
  pages.keep(earlier, kText, page);
  pages.keep(later, kText, bytes("later"));
  CHECK(pages.find(earlier, kText) == nullptr);
  CHECK(*pages.find(later, kText) == "later");
  CHECK(page.use_count() == 1);
  pages.clear();
  CHECK(pages.find(later, kText) == nullptr);
}

TEST_CASE("a later result at the address of an earlier one does not get its page") {
  SharedPages pages;
  const FakeScrape place;
  const auto at_place = [&place] { return SharedPages::Result(std::make_shared<int>(), &place); };
  auto earlier = at_place();
  pages.keep(earlier, kText, bytes("earlier"));
  CHECK(pages.find(earlier, kText) != nullptr);
  earlier.reset();
  CHECK(pages.find(at_place(), kText) == nullptr);
}

TEST_SUITE_END();
