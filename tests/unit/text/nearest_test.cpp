// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "text/text.h"

using igpu::exporter::nearest;

TEST_SUITE_BEGIN("nearest");

TEST_CASE("a typing error finds the word that was meant") {
  const std::vector<std::string> commands{"serve", "list", "stats", "doctor", "healthcheck"};
  CHECK(nearest("stast", commands) == "stats");    // swapped
  CHECK(nearest("docter", commands) == "doctor");  // changed
  CHECK(nearest("lst", commands) == "list");       // left out
  CHECK(nearest("servee", commands) == "serve");   // added
}

TEST_CASE("a word unlike all candidates finds none") {
  const std::vector<std::string> commands{"serve", "list"};
  CHECK(nearest("xyzzy", commands).empty());
  CHECK(nearest("", commands).empty());
  CHECK(nearest("serve", {}).empty());
  CHECK(nearest(std::string(100'000, 'a'), commands).empty());
}

TEST_SUITE_END();
