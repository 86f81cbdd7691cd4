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

TEST_CASE("empty lines before a request are skipped") {
  const std::string request = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
  CHECK(scan_request("\r\n").state == State::incomplete);
  CHECK(scan_request("\r\n\r\n").state == State::incomplete);
  const RequestFraming framing = scan_request("\r\n\n" + request + "more");
  CHECK(framing.state == State::complete);
  CHECK(framing.head_size == 3 + request.size());
  CHECK(framing.keep_alive);
}

TEST_CASE("only HTTP/1.1 without \"Connection: close\" goes on") {
  CHECK(scan_request("GET / HTTP/1.1\r\nHost: a\r\n\r\n").keep_alive);
  CHECK(scan_request("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n").keep_alive);
  CHECK_FALSE(scan_request("GET / HTTP/1.1\r\nHost: a\r\nconnection:Upgrade , CLOSE\r\n\r\n").keep_alive);
  CHECK_FALSE(scan_request("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keep_alive);
  CHECK_FALSE(scan_request("GET /\r\n\r\n").keep_alive);
}

TEST_CASE("a body is seen however it is announced") {
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";
  CHECK(scan_request(post + "content-length: 17 \r\n\r\n").announced_body == 17);
  CHECK(scan_request(post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n").announced_body == 5);
  CHECK(scan_request(post + "Transfer-Encoding: chunked\r\n\r\n").chunked_body);
  CHECK(scan_request(post + "Content-Length: 99999999999999999999999\r\n\r\n").announced_body ==
        std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("a length that is no number, or that is said in two ways, is malformed") {
  for (const char* strange : {"-1", "+5", "1x", "0x10", "", "5, 5", "1 2"}) {
    CAPTURE(strange);
    const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::string(strange) + "\r\n\r\n";
    CHECK(scan_request(head).state == State::malformed);
  }
  for (const char* other : {"6", "0", "99999999999999999999999"}) {
    CAPTURE(other);
    const std::string head =
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: " + std::string(other) + "\r\n\r\n";
    CHECK(scan_request(head).state == State::malformed);
  }
}

TEST_CASE("a header line is a name, a colon right behind it, and a value") {
  for (const char* line :
       {"Content-Length : 41", "Transfer-Encoding : chunked", "Connection\t: close", " Content-Length: 41",
        "\tfolded: x", " folded", "no colon", ": no name", "na me: x", "n\xc3\xa4me: x", "name\"quoted\": x", "a/b: x",
        "X: bare\rContent-Length: 41", "X: y\r\rZ: z"}) {
    CAPTURE(line);
    CHECK(scan_request("GET / HTTP/1.1\r\nHost: a\r\n" + std::string(line) + "\r\n\r\n").state == State::malformed);
    CHECK(scan_request("GET / HTTP/1.1\r\n" + std::string(line) + "\r\nHost: a\r\n\r\n").state == State::malformed);
  }
  for (const char* line : {"X:", "x:y", "X: \t y \t", "X: \xc3\xa4", "!#$%&'*+-.^_`|~09aZ: x", "X: a:b"}) {
    CAPTURE(line);
    CHECK(scan_request("GET / HTTP/1.1\r\nHost: a\r\n" + std::string(line) + "\r\n\r\n").state == State::complete);
  }
  CHECK(scan_request("GET /x\rHTTP/1.1\r\nHost: a\r\n\r\n").state == State::malformed);
}

TEST_CASE("a request says once whom it is for; before HTTP/1.1 it need not") {
  CHECK(scan_request("GET / HTTP/1.1\r\n\r\n").state == State::malformed);
  CHECK(scan_request("GET / HTTP/1.1\r\nX-Host: a\r\n\r\n").state == State::malformed);
  CHECK(scan_request("GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n").state == State::malformed);
  CHECK(scan_request("GET / HTTP/1.1\r\nhost:\r\n\r\n").state == State::complete);
  CHECK(scan_request("GET / HTTP/1.0\r\n\r\n").state == State::complete);
  CHECK(scan_request("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n").state == State::malformed);
}

TEST_CASE("a target as clients of a proxy send it loses scheme and host") {
  const auto rewritten = [](const std::string& target) {
    const std::string rest = " HTTP/1.1\r\nHost: http://a/b\r\n\r\n";
    const std::string head = in_origin_form("GET " + target + rest);
    CHECK(head.starts_with("GET "));
    CHECK(head.ends_with(rest));
    return head.substr(4, head.size() - 4 - rest.size());
  };
  CHECK(rewritten("http://h:1/metrics?a=b") == "/metrics?a=b");
  CHECK(rewritten("HTTPS://h/metrics") == "/metrics");
  CHECK(rewritten("http://[::1]:9/x") == "/x");
  CHECK(rewritten("http://h") == "/");
  CHECK(rewritten("http://h?q=/") == "/?q=/");
  for (const char* same : {"/metrics", "/http://h/x", "*", "ftp://h/x", "http:///x", "http://", "http://[::1/", "http:/x"}) {
    CAPTURE(same);
    CHECK(rewritten(same) == same);
  }
  for (const char* head : {"\r\n\r\n", "GET\r\n\r\n", "GET \r\n\r\n", "http://h/\r\n\r\n"}) CHECK(in_origin_form(head) == head);
  CHECK(in_origin_form("\r\nGET http://h/x HTTP/1.0\n\n") == "\r\nGET /x HTTP/1.0\n\n");
}

TEST_CASE("header lines are counted") {
  CHECK(scan_request("GET / HTTP/1.0\r\n\r\n").headers == 0);
  CHECK(scan_request("GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nX: y\r\n\r\n").headers == 3);
}

TEST_CASE("bytes that no head can have are seen before its end") {
  CHECK(scan_request("\x16\x03\x01").state == State::malformed);
  CHECK(scan_request(std::string_view("GET /\0", 6)).state == State::malformed);
  CHECK(scan_request("GET / HTTP/1.1\r\nX: \x7f").state == State::malformed);
  CHECK(scan_request("GET /\xc3\xa4 HTTP/1.1\r\n").state == State::incomplete);  // CivetWeb decides
}

TEST_SUITE_END();
