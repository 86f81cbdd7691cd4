// SPDX-License-Identifier: Apache-2.0
// Slow, broken and many clients; and what a thousand scrapes leave behind.
#include <dirent.h>
#include <doctest/doctest.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <future>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "support/exporter_process.h"
#include "support/exposition_parser.h"
#include "support/http_client.h"
#include "support/sanitizers.h"

using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

// A sanitizer keeps what was freed, and a record of it.
#ifdef IGPU_SANITIZED
constexpr double kAllowedGrowth = 512 << 20;
#else
constexpr double kAllowedGrowth = 1 << 20;
#endif

struct Footprint {
  double descriptors = 0, threads = 0, resident = 0;
};

Footprint footprint(std::uint16_t port) {
  const Exposition page = parse_prometheus_text(http_get(port, "/metrics").body);
  return {*page.value("process_open_fds"), *page.value("process_threads"),
          *page.value("process_resident_memory_bytes")};
}

// Children that any thread of the process has, now.
std::string children(pid_t pid) {
  std::string all;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  DIR* directory = ::opendir(tasks.c_str());
  REQUIRE(directory != nullptr);
  while (const dirent* entry = ::readdir(directory)) {
    std::ifstream file(tasks + "/" + entry->d_name + "/children");
    std::stringstream text;
    text << file.rdbuf();
    all += text.str();
  }
  ::closedir(directory);
  return all;
}

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

// Every collector of the rack has come through.
bool is_whole(const Exposition& page) {
  for (const char* name : {"identity", "engines", "frequency", "rc6", "power", "hwmon", "memory", "pcie", "fdinfo"}) {
    if (page.value("intel_gpu_scrape_collector_success", {{"collector", name}}) != 1) return false;
  }
  return page.value("intel_gpu_exporter_devices") == 3;
}

// Threads that do the same again and again until the end of the scope.
class Storm {
 public:
  Storm(int threads, std::function<void(int number)> act) {
    for (int number = 0; number < threads; ++number) {
      threads_.emplace_back([act, number](const std::stop_token& end) {
        while (!end.stop_requested()) act(number);
      });
    }
  }

 private:
  std::vector<std::jthread> threads_;
};

}  // namespace

TEST_SUITE_BEGIN("clients");

TEST_CASE("idle, half-sent and half-closed clients delay no scrape") {
  ExporterProcess exporter({"--simulate=rack"});
  const std::uint16_t port = exporter.port();
  http_get(port, "/metrics");  // past its first window
  std::vector<HttpConnection> idle;
  for (int i = 0; i < 30; ++i) {
    idle.emplace_back(port);
    if (i % 3 == 1) idle.back().send("GET /metrics HTTP/1.1\r\nHost:");
    if (i % 3 == 2) idle.back().half_close();
  }
  const auto start = std::chrono::steady_clock::now();
  CHECK(http_get(port, "/metrics").status == 200);
  CHECK(std::chrono::steady_clock::now() - start < 10s);
  for (HttpConnection& connection : idle) CHECK(connection.closed_within(10s));
}

TEST_CASE("a request may come byte by byte, and its sender may close its half") {
  ExporterProcess exporter({"--simulate=asleep"});
  HttpConnection connection(exporter.port());
  for (const char byte : std::string("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")) {
    CHECK(connection.send(std::string(1, byte)));
    std::this_thread::sleep_for(2ms);
  }
  connection.half_close();
  const HttpReply reply = parse_reply(connection.receive());
  CHECK(reply.status == 200);
  CHECK(reply.body.size() == std::stoul(reply.header("content-length")));
}

TEST_CASE("clients that hang up in the middle do no harm") {
  ExporterProcess exporter({"--simulate=rack"});
  const std::uint16_t port = exporter.port();
  http_get(port, "/metrics");  // past its first window
  for (int i = 0; i < 30; ++i) {
    HttpConnection connection(port);
    connection.send("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    connection.reset();
  }
  CHECK(http_get(port, "/metrics").status == 200);
  CHECK(exporter.log().find("level=error") == std::string::npos);
}

TEST_CASE("more scrapes at once than allowed are answered 503, the others are whole") {
  ExporterProcess exporter({"--simulate=rack", "--web.max-requests=2"});
  const std::uint16_t port = exporter.port();
  std::vector<std::future<HttpReply>> replies;
  for (int i = 0; i < 8; ++i) {
    // All of them arrive while the first scrape waits for its window.
    replies.push_back(std::async(std::launch::async, [port] { return http_get(port, "/metrics"); }));
  }
  int served = 0;
  int refused = 0;
  for (auto& reply : replies) {
    const HttpReply got = reply.get();
    served += got.status == 200;
    refused += got.status == 503;
  }
  CHECK(served == 2);
  CHECK(refused == 6);
  const Exposition page = parse_prometheus_text(http_get(port, "/metrics").body);
  CHECK(page.value("intel_gpu_exporter_http_requests_total", {{"code", "503"}}) == 6);
}

TEST_CASE("a client whose time is far too short takes nothing from the pages of others") {
  ExporterProcess exporter({"--simulate=rack"});
  const std::uint16_t port = exporter.port();
  http_get(port, "/metrics");  // past its first window
  const Storm storm(2, [port](int) {
    const int status = http_get(port, "/metrics", "X-Prometheus-Scrape-Timeout-Seconds: 0.0000001\r\n").status;
    CHECK((status == 200 || status == 503));
  });
  for (int i = 0; i < 60; ++i) {
    const HttpReply reply = http_get(port, "/metrics", "X-Prometheus-Scrape-Timeout-Seconds: 120\r\n");
    REQUIRE(reply.status == 200);
    CHECK(is_whole(parse_prometheus_text(reply.body)));
  }
  CHECK(exporter.log().find("level=error") == std::string::npos);
  CHECK(occurrences(exporter.log(), "a scrape timed out") <= 10);  // once for each collector
}

TEST_CASE("connections that ask for ever other collectors take nothing from the pages of others") {
  ExporterProcess exporter({"--simulate=rack"});
  const std::uint16_t port = exporter.port();
  http_get(port, "/metrics");  // past its first window
  const std::vector<std::string> names{"engines", "frequency", "rc6", "power", "hwmon", "memory", "pcie", "fdinfo"};
  const Storm storm(24, [&](int number) {
    const auto first = static_cast<std::size_t>(number) % names.size();
    const auto second = (first + 1 + static_cast<std::size_t>(number) / names.size()) % names.size();
    const HttpReply reply = http_get(port, "/metrics?collect[]=" + names[first] + "&collect[]=" + names[second]);
    CHECK(reply.status == 200);
    CHECK(occurrences(reply.body, "\nintel_gpu_scrape_collector_success{") == 3);  // the two, and identity
  });
  for (int i = 0; i < 30; ++i) {
    const HttpReply reply = http_get(port, "/metrics");
    REQUIRE(reply.status == 200);
    CHECK(is_whole(parse_prometheus_text(reply.body)));
  }
}

TEST_CASE("requests whose clients reset the connection leave their places to others at once") {
  ExporterProcess exporter({"--simulate=rack", "--web.max-requests=4"});
  const std::uint16_t port = exporter.port();
  http_get(port, "/metrics");  // past its first window
  // An answer now and then keeps the storm at the pace of this machine: more requests at once than the front hands on
  // are rejected whoever sends them.
  const Storm storm(3, [port](int) {
    for (int i = 0; i < 20; ++i) {
      HttpConnection connection(port);
      connection.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
      connection.reset();
    }
    (void)http_get(port, "/-/healthy");
  });
  for (int i = 0; i < 200; ++i) {
    const HttpReply reply = http_get(port, "/metrics");
    REQUIRE(reply.status == 200);
    CHECK(is_whole(parse_prometheus_text(reply.body)));
  }
}

TEST_CASE("a thousand scrapes leave descriptors, threads and memory as they were, and start no process") {
  ExporterProcess exporter({"--simulate=rack", "--scrape.min-window=1ms"});
  const std::uint16_t port = exporter.port();
  for (int i = 0; i < 100; ++i) http_get(port, "/metrics", i % 2 == 0 ? "Accept-Encoding: gzip\r\n" : "");
  const Footprint before = footprint(port);
  for (int i = 0; i < 1000; ++i) {
    const HttpReply reply = http_get(port, "/metrics", i % 2 == 0 ? "Accept-Encoding: gzip\r\n" : "");
    REQUIRE(reply.status == 200);
    if (i % 100 == 0) CHECK(children(exporter.pid()).empty());
  }
  const Footprint after = footprint(port);
  CHECK(after.descriptors == before.descriptors);
  CHECK(after.threads == before.threads);
  CHECK(after.resident <= before.resident + kAllowedGrowth);
  MESSAGE("resident after 1,100 scrapes: " << after.resident / (1 << 20) << " MiB");
}

TEST_SUITE_END();
