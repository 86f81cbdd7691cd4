// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <stdexcept>

#include "view/client/http_fetcher.h"

using namespace igpu::exporter;

TEST_SUITE_BEGIN("target");

TEST_CASE("a host alone is an exporter's default address; a URL is taken as it is") {
  CHECK(parse_target("rack1").url == "http://rack1:10068/metrics");
  CHECK(parse_target("rack1:9100").url == "http://rack1:9100/metrics");
  CHECK(parse_target("[::1]").url == "http://[::1]:10068/metrics");
  CHECK(parse_target("[fe80::1]:80").url == "http://[fe80::1]:80/metrics");
  CHECK(parse_target("https://rack1").url == "https://rack1/metrics");
  CHECK(parse_target("HTTPS://rack1:10068/").url == "https://rack1:10068/metrics");
  CHECK(parse_target("http://proxy/gpu/metrics?node=7#x").url == "http://proxy/gpu/metrics?node=7");
  CHECK(parse_target("rack1?collect[]=engines").url == "http://rack1:10068/metrics?collect[]=engines");
  CHECK(parse_target("https://rack1:10068/x").name == "rack1:10068");
}

TEST_CASE("credentials leave the URL, and are decoded") {
  const ScrapeTarget target = parse_target("https://anna:p%40ss%3A1@rack1:10068");
  CHECK(target.url == "https://rack1:10068/metrics");
  CHECK(target.name == "rack1:10068");
  CHECK(target.credentials == "anna:p@ss:1");
}

TEST_CASE("what is no host gets a reason") {
  for (const char* text : {"", ":10068", "http://", "ftp://x", "file:///etc/passwd", "host:", "host:0", "host:65536",
                           "host:port", "[::1", "fe80::1", "a b", "a\nb", "http://u:p@", "\033[2J"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_target(text), std::invalid_argument);
  }
  try {
    (void)parse_target("http://anna:secret@host:port");
    FAIL("accepted");
  } catch (const std::invalid_argument& error) {
    CHECK(std::string(error.what()).find("secret") == std::string::npos);
  }
}

TEST_SUITE_END();
