// SPDX-License-Identifier: Apache-2.0
#include "http/query.h"

#include <doctest/doctest.h>

using igpu::exporter::decoded_path;
using igpu::exporter::query_values;
using Values = std::vector<std::string>;

TEST_SUITE_BEGIN("query");

TEST_CASE("all values of a parameter come out in order") {
  CHECK(query_values("collect[]=engines&x=1&collect[]=rc6", "collect[]") == Values{"engines", "rc6"});
}

TEST_CASE("brackets and values may arrive percent-encoded") {
  CHECK(query_values("collect%5B%5D=engines", "collect[]") == Values{"engines"});
  CHECK(query_values("collect%5b%5d=rc%36", "collect[]") == Values{"rc6"});
  CHECK(query_values("a=one+two", "a") == Values{"one two"});
}

TEST_CASE("a parameter without a value has an empty one; one that is not there has none") {
  CHECK(query_values("collect[]", "collect[]") == Values{""});
  CHECK(query_values("collect[]=", "collect[]") == Values{""});
  CHECK(query_values("", "collect[]").empty());
  CHECK(query_values("xcollect[]=a&collect[]x=b", "collect[]").empty());
}

TEST_CASE("broken escapes stand for themselves") {
  CHECK(query_values("a=%", "a") == Values{"%"});
  CHECK(query_values("a=%4", "a") == Values{"%4"});
  CHECK(query_values("a=%zz", "a") == Values{"%zz"});
  CHECK(query_values("&&=&a=1&", "a") == Values{"1"});
}

TEST_CASE("a path is decoded once, and broken escapes and zero bytes make none") {
  CHECK(decoded_path("/metrics") == "/metrics");
  CHECK(decoded_path("/%6detrics") == "/metrics");
  CHECK(decoded_path("/a%20b+%2F%252F/../.") == "/a b+/%2F/../.");
  for (const char* broken : {"%", "/%4", "/%zz", "/%4x", "/a%00", "/%00b"}) {
    CAPTURE(broken);
    CHECK_FALSE(decoded_path(broken).has_value());
  }
}

TEST_SUITE_END();
