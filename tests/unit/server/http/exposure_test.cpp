// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "server/http/listener.h"

using igpu::exporter::reachable_from_outside;
using Addresses = std::vector<std::string>;

TEST_SUITE_BEGIN("exposure");

TEST_CASE("loopback addresses and UNIX sockets are not exposed") {
  CHECK(reachable_from_outside(
            {"127.0.0.1:10068", "127.8.9.10:1", "[::1]:10068", "[::ffff:127.0.0.1]:7", "unix:/run/exporter.sock"})
            .empty());
}

TEST_CASE("every other address is exposed, including the wildcards") {
  const Addresses open{"0.0.0.0:10068", "[::]:10068",          "192.168.1.7:10068", "[fe80::1%eth0]:10068",
                       "10.0.0.1:80",   "[::ffff:10.0.0.1]:7", "128.0.0.1:9"};
  CHECK(reachable_from_outside(open) == open);
}

TEST_CASE("of several addresses, the exposed ones are named") {
  CHECK(reachable_from_outside({"127.0.0.1:1", "0.0.0.0:2", "unix:/x", "[::]:3"}) == Addresses{"0.0.0.0:2", "[::]:3"});
}

TEST_SUITE_END();
