// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/message.h"

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

TEST_CASE("a request line is three words with one space between them") {
  const auto state = [](std::string_view line) {
    return scan_request(std::string(line) + "\r\nHost: a\r\n\r\n").state;
  };
  for (const char* line :
       {"GET / HTTP/1.1", "\r\nGET / HTTP/1.1", "X!1 * HTTP/1.0", "GET / HTTP/2.0", "GET / SPDY/1"}) {
    CAPTURE(line);
    CHECK(state(line) == State::complete);  // the responder checks version and target
  }
  for (const char* line : {"\tGET / HTTP/1.1",
                           " GET / HTTP/1.1",
                           "\r\n\tGET / HTTP/1.1",
                           "\n GET / HTTP/1.1",
                           "\rGET / HTTP/1.1",
                           "\vGET / HTTP/1.1",
                           "\fGET / HTTP/1.1",
                           "\x7fGET / HTTP/1.1",
                           "GET  / HTTP/1.1",
                           "GET /  HTTP/1.1",
                           "GET\t/ HTTP/1.1",
                           "GET \t/ HTTP/1.1",
                           "GET /\tHTTP/1.1",
                           "GET / \tHTTP/1.1",
                           "GET / HTTP/1.1 ",
                           "GET / HTTP/1.1\t",
                           "GET /a b HTTP/1.1",
                           "GET /a\tb HTTP/1.1",
                           "G(T / HTTP/1.1",
                           "\xef\xbb\xbfGET / HTTP/1.1",
                           "GET /",
                           "GET",
                           "GET ",
                           "GET  HTTP/1.1",
                           "\tGET\t/\tHTTP/1.1",
                           "GET: / HTTP/1.1",
                           "\t",
                           " "}) {
    CAPTURE(line);
    CHECK(state(line) == State::malformed);
  }
}

TEST_CASE("only HTTP/1.1 without \"Connection: close\" keeps the connection") {
  CHECK(scan_request("GET / HTTP/1.1\r\nHost: a\r\n\r\n").keep_alive);
  CHECK(scan_request("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n").keep_alive);
  CHECK_FALSE(scan_request("GET / HTTP/1.1\r\nHost: a\r\nconnection:Upgrade , CLOSE\r\n\r\n").keep_alive);
  CHECK_FALSE(scan_request("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keep_alive);
  CHECK_FALSE(scan_request("GET /\r\n\r\n").keep_alive);
}

TEST_CASE("a body is detected however it is announced") {
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";
  CHECK(scan_request(post + "content-length: 17 \r\n\r\n").announced_body == 17);
  CHECK(scan_request(post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n").announced_body == 5);
  CHECK(scan_request(post + "Transfer-Encoding: chunked\r\n\r\n").chunked_body);
  CHECK(scan_request(post + "Content-Length: 99999999999999999999999\r\n\r\n").announced_body ==
        std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("a length that is not a number, or is given in two ways, is malformed") {
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

TEST_CASE("a header line is a name, directly followed by a colon, and a value") {
  for (const char* line :
       {"Content-Length : 41", "Transfer-Encoding : chunked", "Connection\t: close", " Content-Length: 41",
        "\tfolded: x", " folded", "no colon", ": no name", "na me: x", "n\xc3\xa4me: x", "name\"quoted\": x", "a/b: x",
        "X: bare\rContent-Length: 41", "X: y\r\rZ: z"}) {
    CAPTURE(line);
    CHECK(scan_request("GET / HTTP/1.1\r\nHost: a\r\n" + std::string(line) + "\r\n\r\n").state == State::malformed);
    CHECK(scan_request("GET / HTTP/1.1\r\n" + std::string(line) + "\r\nHost: a\r\n\r\n").state == State::malformed);
  }
  for (const char* line : {"X:", "x:y", "X: a\tb", "X: \t y \t", "X: \xc3\xa4", "!#$%&'*+-.^_`|~09aZ: x", "X: a:b"}) {
    CAPTURE(line);
    CHECK(scan_request("GET / HTTP/1.1\r\nHost: a\r\n" + std::string(line) + "\r\n\r\n").state == State::complete);
  }
  CHECK(scan_request("GET /x\rHTTP/1.1\r\nHost: a\r\n\r\n").state == State::malformed);
}

TEST_CASE("a request has exactly one Host; before HTTP/1.1 it may have none") {
  CHECK(scan_request("GET / HTTP/1.1\r\n\r\n").state == State::malformed);
  CHECK(scan_request("GET / HTTP/1.1\r\nX-Host: a\r\n\r\n").state == State::malformed);
  CHECK(scan_request("GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n").state == State::malformed);
  CHECK(scan_request("GET / HTTP/1.1\r\nhost:\r\n\r\n").state == State::complete);
  CHECK(scan_request("GET / HTTP/1.0\r\n\r\n").state == State::complete);
  CHECK(scan_request("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n").state == State::malformed);
}

TEST_CASE("a Host is a name or an address, optionally with a port") {
  const auto state = [](const std::string& host) {
    return scan_request("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n").state;
  };
  for (const char* host : {"", "a", "gpu-1.example_x.org:9100", "a:", "127.0.0.1:1", "[::1]", "[::1]:9100",
                           "[fe80::1%25eth0]", "[fe80::1%eth0]:1", "a%20b", "~!$&'()*+,;=", " a\t"}) {
    CAPTURE(host);
    CHECK(state(host) == State::complete);
  }
  for (const char* host :
       {"a b", "a, b", "a/b", "http://a", "user@a",  "a?b",   "a#b",  "a\\b", "a\"b", "<a>", "a:b",      "a:1:2",
        "::1", "[::1", "[]",  "[::1]x",   "[::1]:x", "[a/b]", "::1]", "a%2",  "a%zz", "a%",  "\xc3\xa4", "a\tb"}) {
    CAPTURE(host);
    CHECK(state(host) == State::malformed);
  }
  CHECK(scan_request("GET / HTTP/1.0\r\nHost: a/b\r\n\r\n").state == State::malformed);
}

TEST_CASE("a transfer coding is chunked, once; others are unknown") {
  const auto scanned = [](const std::string& lines) {
    return scan_request("POST / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n");
  };
  for (const char* list : {"chunked", "Chunked", " ,chunked , "}) {
    CAPTURE(list);
    const RequestFraming framing = scanned("Transfer-Encoding: " + std::string(list) + "\r\n");
    CHECK(framing.state == State::complete);
    CHECK(framing.chunked_body);
    CHECK_FALSE(framing.unknown_coding);
  }
  for (const char* list :
       {"gzip", "gzip, chunked", "chunked, gzip", "identity", "x", "chunked;q=1", "chunked chunked"}) {
    CAPTURE(list);
    const RequestFraming framing = scanned("Transfer-Encoding: " + std::string(list) + "\r\n");
    CHECK(framing.state == State::complete);
    CHECK(framing.chunked_body);
    CHECK(framing.unknown_coding);
  }
  CHECK(scanned("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n").unknown_coding);
  for (const char* lines :
       {"Transfer-Encoding:\r\n", "Transfer-Encoding: ,\r\n", "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"}) {
    CAPTURE(lines);
    CHECK(scanned(lines).state == State::malformed);
  }
}

TEST_CASE("requests that name no resource of this server are recognized") {
  CHECK(scan_request("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").names_no_resource);
  CHECK(scan_request("CONNECT a:443 HTTP/1.0\r\n\r\n").names_no_resource);
  for (const char* line : {"OPTIONS /", "GET *", "FOO *", "OPTIONS *x", "CONNECTED a:443"}) {
    CAPTURE(line);
    CHECK_FALSE(scan_request(std::string(line) + " HTTP/1.1\r\nHost: a\r\n\r\n").names_no_resource);
  }
  CHECK_FALSE(scan_request("OPTIONS * HTTP/2.0\r\n\r\n").names_no_resource);
}

TEST_CASE("the head for a strict parser has few methods and no tabs") {
  CHECK(for_strict_parser("GET /x HTTP/1.1\r\nA:\tb\tc\r\n\r\n") == "GET /x HTTP/1.1\r\nA: b c\r\n\r\n");
  CHECK(for_strict_parser("HEAD /x HTTP/1.1\r\n\r\n") == "HEAD /x HTTP/1.1\r\n\r\n");
  CHECK(for_strict_parser("\r\nFO-O! /x HTTP/1.1\r\n\r\n") == "\r\nPUT /x HTTP/1.1\r\n\r\n");
  CHECK(for_strict_parser("get /x HTTP/1.1\n\n") == "PUT /x HTTP/1.1\n\n");
  for (const char* same :
       {"G(T /x HTTP/1.1\r\n\r\n", " /x HTTP/1.1\r\n\r\n", "GET\t/x HTTP/1.1\r\n\r\n", "\r\n\r\n", ""}) {
    CAPTURE(same);
    CHECK(for_strict_parser(same) == same);
  }
}

TEST_CASE("a target is a path and a query, optionally after scheme and host") {
  const auto split = [](std::string_view target) {
    const std::optional<Target> parts = split_target(target);
    return parts ? std::string(parts->path) + " " + std::string(parts->query) : "none";
  };
  CHECK(split("/metrics") == "/metrics ");
  CHECK(split("/metrics?") == "/metrics ");
  CHECK(split("/metrics?a=b?c") == "/metrics a=b?c");
  CHECK(split("/http://h/x") == "/http://h/x ");
  CHECK(split("//h/x") == "//h/x ");
  CHECK(split("http://h:1/metrics?a=b") == "/metrics a=b");
  CHECK(split("HTTPS://h/metrics") == "/metrics ");
  CHECK(split("http://[::1]:9/x") == "/x ");
  CHECK(split("http://h") == "/ ");
  CHECK(split("http://h?q=/") == "/ q=/");
  CHECK(split("http://h?") == "/ ");
  for (const char* target :
       {"", "*", "metrics", "?a=b", "ftp://h/x", "http:///x", "http://", "http://[::1/", "http:/x"}) {
    CAPTURE(target);
    CHECK(split(target) == "none");
  }
}

TEST_CASE("header lines are counted") {
  CHECK(scan_request("GET / HTTP/1.0\r\n\r\n").headers == 0);
  CHECK(scan_request("GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nX: y\r\n\r\n").headers == 3);
}

TEST_CASE("bytes that no head may contain are detected before its end") {
  CHECK(scan_request("\x16\x03\x01").state == State::malformed);
  CHECK(scan_request(std::string_view("GET /\0", 6)).state == State::malformed);
  CHECK(scan_request("GET / HTTP/1.1\r\nX: \x7f").state == State::malformed);
  CHECK(scan_request("GET /\xc3\xa4 HTTP/1.1\r\n").state == State::incomplete);  // CivetWeb decides
}

TEST_SUITE_END();
