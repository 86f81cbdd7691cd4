// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace igpu::exporter {

// Another exporter's page.
struct ScrapeTarget {
  std::string url;          // with scheme and path, without credentials
  std::string name;         // "host:10068", for people
  std::string credentials;  // NAME:PASSWORD of the URL; "" for none
};

// HOST, HOST:PORT, [IPV6]:PORT (http, port 10068) or a whole URL; the path is /metrics unless it has one.
// Throws std::invalid_argument with a reason.
ScrapeTarget parse_target(std::string_view text);

}  // namespace igpu::exporter
