// SPDX-License-Identifier: Apache-2.0
#include "http/framing.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>

using namespace igpu::exporter;
using State = RequestFraming::State;

TEST_SUITE_BEGIN("framing");

TEST_CASE("a head ends at its empty line, with or without carriage returns") {
  const std::string request = "GET /metrics?x HTTP/1.1\r\nHost: a\r\n\r\n";
  for (std::size_t size = 0; size < request.size(); ++size) {
    CHECK(scan_request(std::string_view(request).substr(0, size)).state == State::incomplete);
  }
  const RequestFraming framing = scan_request(request + "GET /next");
  CHECK(framing.state == State::complete);
  CHECK(framing.head_size == request.size());
  CHECK(framing.target_size == 10);
  CHECK(framing.keep_alive);
  CHECK(framing.announced_body == 0);
  CHECK_FALSE(framing.chunked_body);
  CHECK(scan_request("GET / HTTP/1.0\n\nx").head_size == 16);
}

TEST_CASE("only HTTP/1.1 without \"Connection: close\" goes on") {
  CHECK(scan_request("GET / HTTP/1.1\r\n\r\n").keep_alive);
  CHECK(scan_request("GET / HTTP/1.1\r\nConnection: keep-alive\r\n\r\n").keep_alive);
  CHECK_FALSE(scan_request("GET / HTTP/1.1\r\nconnection:Upgrade , CLOSE\r\n\r\n").keep_alive);
  CHECK_FALSE(scan_request("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keep_alive);
  CHECK_FALSE(scan_request("GET /\r\n\r\n").keep_alive);
}

TEST_CASE("a body is seen however it is announced") {
  CHECK(scan_request("POST / HTTP/1.1\r\ncontent-length: 17 \r\n\r\n").announced_body == 17);
  CHECK(scan_request("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 5\r\n\r\n").announced_body == 5);
  CHECK(scan_request("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n").chunked_body);
  for (const char* strange : {"-1", "1x", "99999999999999999999999", "0x10", ""}) {
    CAPTURE(strange);
    const std::string head = "POST / HTTP/1.1\r\nContent-Length: " + std::string(strange) + "\r\n\r\n";
    CHECK(scan_request(head).announced_body == std::numeric_limits<std::uint64_t>::max());
  }
}

TEST_CASE("bytes that no head can have are seen before its end") {
  CHECK(scan_request("\x16\x03\x01").state == State::malformed);
  CHECK(scan_request(std::string_view("GET /\0", 6)).state == State::malformed);
  CHECK(scan_request("GET / HTTP/1.1\r\nX: \x7f").state == State::malformed);
  CHECK(scan_request("GET /\xc3\xa4 HTTP/1.1\r\n").state == State::incomplete);  // CivetWeb decides
}

TEST_SUITE_END();
