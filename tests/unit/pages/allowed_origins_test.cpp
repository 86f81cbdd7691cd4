// SPDX-License-Identifier: Apache-2.0
#include "pages/allowed_origins.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "support/fake_http.h"

using namespace igpu::exporter;
using igpu::test::FakeRequest;

namespace {

using Headers = std::vector<std::pair<std::string_view, std::string_view>>;

Headers headers(const std::string& pattern, const std::string& origin) {
  FakeRequest request;
  if (!origin.empty()) request.headers["Origin"] = origin;
  HttpResponse response;
  AllowedOrigins(pattern).add_headers(request, response);
  return {response.headers.begin(), response.headers.end()};
}

}  // namespace

TEST_SUITE_BEGIN("allowed_origins");

TEST_CASE("without a pattern no web site may read, and no header tells of it") {
  CHECK_FALSE(AllowedOrigins().allows("https://one.example"));
  CHECK(headers("", "https://one.example").empty());
}

TEST_CASE("the pattern has to match the whole origin") {
  const AllowedOrigins origins(R"(https?://(one|two)\.example)");
  for (const char* allowed : {"https://one.example", "http://two.example"}) {
    CAPTURE(allowed);
    CHECK(origins.allows(allowed));
  }
  for (const char* refused :
       {"https://one.example.org", "xhttps://one.example", "https://oneXexample", "https://three.example",
        "https://one.example:8080", "https://one.example\nhttps://x", "null", ""}) {
    CAPTURE(refused);
    CHECK_FALSE(origins.allows(refused));
  }
  CHECK_FALSE(AllowedOrigins("a|b").allows("ab"));
  CHECK(AllowedOrigins("a|b").allows("b"));
}

TEST_CASE("an allowed origin is named, every other answer differs only in that") {
  CHECK(headers("https://one.example", "https://two.example") == Headers{{"Vary", "Origin"}});
  CHECK(headers("https://one.example", "") == Headers{{"Vary", "Origin"}});
  CHECK(headers(".*", "https://two.example") == Headers{{"Vary", "Origin"}, {"Access-Control-Allow-Origin", "*"}});
  FakeRequest request;
  request.headers["Origin"] = "https://one.example";
  HttpResponse response;
  AllowedOrigins("https://one.example").add_headers(request, response);
  REQUIRE(response.headers.size() == 2);
  CHECK(response.headers.back().second == "https://one.example");
}

TEST_CASE("an invalid pattern is refused with the reason; a long origin is not searched") {
  CHECK_THROWS_AS(AllowedOrigins("("), std::invalid_argument);
  CHECK_THROWS_AS(AllowedOrigins("["), std::invalid_argument);
  CHECK_FALSE(AllowedOrigins(".*").allows(std::string(16384, 'a')));
}

TEST_SUITE_END();
