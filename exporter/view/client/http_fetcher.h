// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/model.h"

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

// Named as in curl.
struct ClientOptions {
  std::string cacert;  // file with the issuers to trust instead of the system's
  std::string cert, key;
  std::string user;  // NAME:PASSWORD for the hosts without credentials in their URL
  bool insecure = false;
  std::chrono::nanoseconds max_time = std::chrono::seconds(5);  // of one request
  std::size_t max_bytes = std::size_t{64} << 20U;               // of one page, decompressed
};

struct Fetched {
  std::string body;
  std::string problem;  // one line; "" if body is the page
};

// Reads pages of other exporters, any number at once, in the thread that calls run(). Connections stay open between
// two readings of a page. A host that fails, stalls or floods ends its own request only.
class HttpFetcher {
 public:
  // Throws std::runtime_error if libcurl is missing or an option is invalid for it.
  HttpFetcher(std::vector<ScrapeTarget> targets, const ClientOptions& options);
  ~HttpFetcher();
  HttpFetcher(const HttpFetcher&) = delete;
  HttpFetcher& operator=(const HttpFetcher&) = delete;

  void start(std::size_t target);  // does nothing while a request to it is running
  bool under_way(std::size_t target) const;

  // Processes requests until `until`, until one has ended, or until wake(). Calls `done` for each request that ended.
  using Done = std::function<void(std::size_t target, Fetched fetched)>;
  void run(std::chrono::steady_clock::time_point until, const Done& done);
  void wake();  // from any thread

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Samples of a page in Prometheus text or OpenMetrics, which may come from any program.

// Valid only during the call of the handler.
struct TextSample {
  std::string_view metric;
  std::span<const LabelPair> labels;
  double value = 0;

  std::string_view label(std::string_view name) const {  // "": absent
    for (const LabelPair& pair : labels) {
      if (pair.name == name) return pair.value;
    }
    return {};
  }
};

using SampleHandler = std::function<void(const TextSample&)>;

struct ParsedExposition {
  std::size_t samples = 0;
  std::size_t malformed_lines = 0;  // skipped
};

inline constexpr std::size_t kMaxParsedLabels = 32;

// Passes each sample to `use`, in the page's order. Lines that are neither samples nor comments are skipped and
// counted. Label values may contain anything, also control characters and invalid UTF-8. A value may be NaN or
// infinite.
ParsedExposition parse_exposition(std::string_view text, const SampleHandler& use);

}  // namespace igpu::exporter
