// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <stdexcept>

#include "server/http/addresses.h"

using igpu::exporter::ListenAddress;
using igpu::exporter::parse_listen_address;
using Kind = ListenAddress::Kind;

TEST_SUITE_BEGIN("listen_address");

TEST_CASE("a bare port means every address") {
  const ListenAddress address = parse_listen_address(":10068");
  CHECK(address.kind == Kind::every);
  CHECK(address.port == 10068);
  CHECK(parse_listen_address(":0").port == 0);
}

TEST_CASE("names and IPv4 addresses precede the port") {
  CHECK(parse_listen_address("localhost:9100").kind == Kind::host);
  CHECK(parse_listen_address("localhost:9100").host == "localhost");
  CHECK(parse_listen_address("192.0.2.1:65535").host == "192.0.2.1");
}

TEST_CASE("IPv6 addresses are in brackets") {
  const ListenAddress address = parse_listen_address("[::1]:9100");
  CHECK(address.kind == Kind::ipv6);
  CHECK(address.host == "::1");
  CHECK(address.port == 9100);
}

TEST_CASE("unix: is followed by an absolute path") {
  const ListenAddress address = parse_listen_address("unix:/run/igpu/exporter.sock");
  CHECK(address.kind == Kind::unix_socket);
  CHECK(address.path == "/run/igpu/exporter.sock");
}

TEST_CASE("everything else is rejected, with the given text in the message") {
  for (const char* text : {"", "10068", ":", ":x", ":65536", ":-1", ":1x", "host:", "::1:9100", "[::1:9100", "[]:1",
                           "unix:relative", "unix:"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_listen_address(text), doctest::Contains(("\"" + std::string(text) + "\"").c_str()),
                         std::invalid_argument);
  }
  CHECK_THROWS_AS(parse_listen_address("unix:/" + std::string(200, 'x')), std::invalid_argument);
}

TEST_SUITE_END();
