// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <stdexcept>

#include "server/http/message.h"

using igpu::exporter::query_values;
using igpu::exporter::url_decoded;
using Values = std::vector<std::string>;

TEST_SUITE_BEGIN("query");

TEST_CASE("all values of a parameter are returned in order") {
  CHECK(query_values("collect[]=engines&x=1&collect[]=rc6", "collect[]") == Values{"engines", "rc6"});
}

TEST_CASE("brackets and values may arrive percent-encoded") {
  CHECK(query_values("collect%5B%5D=engines", "collect[]") == Values{"engines"});
  CHECK(query_values("collect%5b%5d=rc%36", "collect[]") == Values{"rc6"});
  CHECK(query_values("a=one+two", "a") == Values{"one two"});
}

TEST_CASE("a parameter without a value has an empty one; a missing parameter has none") {
  CHECK(query_values("collect[]", "collect[]") == Values{""});
  CHECK(query_values("collect[]=", "collect[]") == Values{""});
  CHECK(query_values("", "collect[]").empty());
  CHECK(query_values("xcollect[]=a&collect[]x=b", "collect[]").empty());
}

TEST_CASE("invalid escapes are kept") {
  CHECK(query_values("a=%", "a") == Values{"%"});
  CHECK(query_values("a=%4", "a") == Values{"%4"});
  CHECK(query_values("a=%zz", "a") == Values{"%zz"});
  CHECK(query_values("&&=&a=1&", "a") == Values{"1"});
}

TEST_CASE("a zero byte, which would truncate a value, is an error") {
  CHECK_THROWS_AS(query_values("collect[]=engines%00x", "collect[]"), std::invalid_argument);
  CHECK_THROWS_AS(query_values("collect[]%00x=engines", "collect[]"), std::invalid_argument);
  CHECK(query_values("a=%2500", "a") == Values{"%00"});
}

TEST_CASE("a path is decoded once, and an invalid escape is kept") {
  CHECK(url_decoded("").empty());
  CHECK(url_decoded("/metrics") == "/metrics");
  CHECK(url_decoded("/%6detrics") == "/metrics");
  CHECK(url_decoded("/a%20b+%2F%252F/../.") == "/a b+/%2F/../.");
  CHECK(url_decoded("/a%00b") == std::string("/a\0b", 4));
  for (const char* broken : {"%", "/%4", "/%zz", "/%4x"}) {
    CAPTURE(broken);
    CHECK(url_decoded(broken) == broken);
  }
}

TEST_SUITE_END();
