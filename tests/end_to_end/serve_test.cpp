// SPDX-License-Identifier: Apache-2.0
// The real program over real sockets: pages, headers, choices, start and end.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <regex>
#include <set>
#include <stdexcept>
#include <thread>

#include "support/exporter_process.h"
#include "support/exposition_parser.h"
#include "support/http_client.h"
#include "support/machine_tree.h"
#include "support/paths.h"
#include "support/run_program.h"
#include "support/sanitizers.h"

using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

const char* const kOpenMetrics = "Accept: application/openmetrics-text; version=1.0.0\r\n";

std::set<std::string> metric_names(const Exposition& page) {
  std::set<std::string> names;
  for (const ExpositionFamily& family : page.families) {
    for (const ExpositionSample& sample : family.samples) names.insert(sample.name);
  }
  return names;
}

// Another exporter may have the default port.
constexpr const char* kAnyPort = "INTEL_GPU_EXPORTER_WEB_LISTEN_ADDRESS=127.0.0.1:0";

std::vector<std::string> arguments(std::initializer_list<const char*> more) {
  std::vector<std::string> list{exporter_binary()};
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

#ifndef IGPU_SANITIZED
long private_kilobytes(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stol(line.substr(8));
  throw std::runtime_error("no RssAnon");
}
#endif

}  // namespace

TEST_SUITE_BEGIN("serve");

#ifndef IGPU_SANITIZED
TEST_CASE("what the start needs is not kept in memory") {  // as root: the kernel's types, for the BPF programs
  const ExporterProcess exporter({});
  CHECK(http_get(exporter.port(), "/metrics").status == 200);
  CHECK(private_kilobytes(exporter.pid()) < 6000);
}
#endif

TEST_CASE("the page is valid and the same in both formats") {
  ExporterProcess exporter({"--simulate=rack"});
  const HttpReply text = http_get(exporter.port(), "/metrics");
  CHECK(text.status == 200);
  CHECK(text.header("content-type") == "text/plain; version=0.0.4; charset=utf-8");
  CHECK(text.header("vary") == "Accept, Accept-Encoding");
  const Exposition page = parse_prometheus_text(text.body);
  CHECK(page.find("intel_gpu_info").size() == 3);
  CHECK(page.value("intel_gpu_exporter_devices") == 3);
  for (const ExpositionSample* success : page.find("intel_gpu_scrape_collector_success")) {
    CAPTURE(success->label("collector"));
    CHECK(success->value == 1);
  }

  const HttpReply open = http_get(exporter.port(), "/metrics", kOpenMetrics);
  CHECK(open.header("content-type") == "application/openmetrics-text; version=1.0.0; charset=utf-8");
  CHECK(metric_names(parse_openmetrics(open.body)) == metric_names(page));
}

TEST_CASE("standard descriptors that were closed are not given to files and sockets") {
  const std::vector<std::string> closing{"sh", "-c", "exec \"$@\" <&- >&-", "sh", exporter_binary()};
  ExporterProcess exporter({"--simulate=rack", "--no-sandbox"}, {}, closing);
  CHECK(http_get(exporter.port(), "/metrics").status == 200);
  for (const char* descriptor : {"0", "1"}) {
    const std::filesystem::path link = "/proc/" + std::to_string(exporter.pid()) + "/fd/" + descriptor;
    CHECK(std::filesystem::read_symlink(link) == "/dev/null");
  }
}

TEST_CASE("exclude[] of every collector leaves who the GPUs are, and no more") {
  ExporterProcess exporter({"--simulate=rack"});
  std::string query;
  const Exposition whole = parse_prometheus_text(http_get(exporter.port(), "/metrics").body);
  for (const ExpositionSample* success : whole.find("intel_gpu_scrape_collector_success")) {
    if (success->label("collector") != "identity") query += "&exclude[]=" + std::string(success->label("collector"));
  }
  REQUIRE_FALSE(query.empty());
  const HttpReply reply = http_get(exporter.port(), "/metrics?" + query.substr(1));
  CAPTURE(reply.body);
  CHECK(reply.status == 200);
  const Exposition page = parse_prometheus_text(reply.body);
  CHECK(page.find("intel_gpu_info").size() == 3);
  CHECK(page.find("intel_gpu_frequency_hertz").empty());
  CHECK(page.find("intel_gpu_scrape_collector_success").size() <= 1);
}

TEST_CASE("gzip is given to those who accept it") {
  ExporterProcess exporter({"--simulate=rack"});
  const HttpReply plain = http_get(exporter.port(), "/metrics");
  const HttpReply packed = http_get(exporter.port(), "/metrics", "Accept-Encoding: gzip\r\n");
  CHECK(packed.header("content-encoding") == "gzip");
  CHECK(packed.body.size() * 3 < plain.body.size());
  CHECK(metric_names(parse_prometheus_text(gunzip(packed.body))) == metric_names(parse_prometheus_text(plain.body)));
  CHECK(http_get(exporter.port(), "/metrics", "Accept-Encoding: gzip;q=0\r\n").header("content-encoding").empty());
}

TEST_CASE("HEAD is GET without the body; other methods are 405; other paths are 404") {
  ExporterProcess exporter({"--simulate=asleep"});
  const std::uint16_t port = exporter.port();
  const HttpReply head = http_get(port, "/metrics", "", "HEAD");
  CHECK(head.status == 200);
  CHECK(head.body.empty());
  CHECK(std::stoul(head.header("content-length")) > 500);
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "FOO"}) {
    CAPTURE(method);
    const HttpReply reply = http_get(port, "/metrics", "", method);
    CHECK(reply.status == 405);
    CHECK(reply.header("allow") == "GET, HEAD");
    CHECK(http_get(port, "/nowhere", "", method).status == 404);
  }
  for (const char* path : {"/metricsfoo", "/metrics/", "/metrics/x", "/favicon.ico", "/-/", "/%2e%2e/etc/passwd"}) {
    CAPTURE(path);
    CHECK(http_get(port, path).status == 404);
  }
}

TEST_CASE("a page for people, health and readiness") {
  ExporterProcess exporter({"--simulate=locked", "--web.telemetry-path=/gpu"});
  const HttpReply index = http_get(exporter.port(), "/");
  CHECK(index.status == 200);
  CHECK(index.header("content-type") == "text/html; charset=utf-8");
  CHECK(index.body.find("href=\"/gpu\"") != std::string::npos);
  CHECK(index.body.find("CAP_PERFMON") != std::string::npos);
  CHECK(http_get(exporter.port(), "/-/healthy").body == "healthy\n");
  CHECK(http_get(exporter.port(), "/-/ready").body == "ready\n");
  CHECK(http_get(exporter.port(), "/gpu").status == 200);
  CHECK(http_get(exporter.port(), "/metrics").status == 404);
}

TEST_CASE("collect[] and exclude[] choose collectors; what cannot be chosen is a 400 with the reason") {
  ExporterProcess exporter({"--simulate=rack", "--no-collector.pcie"});
  const std::uint16_t port = exporter.port();
  const Exposition some = parse_prometheus_text(http_get(port, "/metrics?collect[]=rc6&collect%5B%5D=hwmon").body);
  CHECK_FALSE(some.find("intel_gpu_rc6_residency_seconds_total").empty());
  CHECK_FALSE(some.find("intel_gpu_temperature_celsius").empty());
  CHECK_FALSE(some.find("intel_gpu_info").empty());  // identity is always there
  CHECK(some.find("intel_gpu_frequency_hertz").empty());
  CHECK(some.find("intel_gpu_process_clients").empty());
  const Exposition others = parse_prometheus_text(http_get(port, "/metrics?exclude[]=rc6").body);
  CHECK(others.find("intel_gpu_rc6_residency_seconds_total").empty());
  CHECK_FALSE(others.find("intel_gpu_process_clients").empty());
  CHECK(others.find("intel_gpu_pcie_link_width_lanes").empty());
  for (const auto& [query, reason] : std::initializer_list<std::pair<const char*, const char*>>{
           {"collect[]=nope", "unknown collector: nope\n"},
           {"collect[]=pcie", "disabled collector: pcie\n"},
           {"collect[]=rc6&exclude[]=hwmon", "collect[] and exclude[]"}}) {
    const HttpReply reply = http_get(port, std::string("/metrics?") + query);
    CHECK(reply.status == 400);
    CHECK(reply.body.starts_with(reason));
  }
}

TEST_CASE("the exporter reports its own metrics") {
  ExporterProcess exporter({"--simulate=asleep"});
  http_get(exporter.port(), "/nowhere");
  const Exposition page = parse_prometheus_text(http_get(exporter.port(), "/metrics").body);
  CHECK(page.find("intel_gpu_exporter_build_info").size() == 1);
  CHECK(page.value("intel_gpu_exporter_http_requests_total", {{"code", "404"}}) == 1);
  CHECK(page.value("intel_gpu_exporter_http_requests_total", {{"code", "200"}}) == 0);
  CHECK(page.find("process_cpu_seconds_total").size() == 1);

  ExporterProcess quiet({"--simulate=asleep", "--web.disable-exporter-metrics"});
  const Exposition bare = parse_prometheus_text(http_get(quiet.port(), "/metrics").body);
  CHECK(bare.find("process_cpu_seconds_total").empty());
  CHECK(bare.find("intel_gpu_exporter_http_requests_total").empty());
  CHECK(bare.find("intel_gpu_exporter_build_info").size() == 1);
}

TEST_CASE("SIGTERM and SIGINT let the scrape under way finish and end with 0") {
  for (const int signal : {SIGTERM, SIGINT}) {
    ExporterProcess exporter({"--simulate=rack", "--scrape.min-window=3s"});
    const std::uint16_t port = exporter.port();
    // The first scrape waits for its window, so it is still under way when the signal comes.
    auto scrape = std::async(std::launch::async, [port] { return http_get(port, "/metrics"); });
    std::this_thread::sleep_for(1s);
    const auto start = std::chrono::steady_clock::now();
    CHECK(exporter.stop(signal) == 0);
    CHECK(std::chrono::steady_clock::now() - start < 30s);
    const HttpReply reply = scrape.get();
    CHECK(reply.status == 200);
    CHECK_NOTHROW(parse_prometheus_text(reply.body));
    CHECK(exporter.log().find("level=error") == std::string::npos);
  }
}

TEST_CASE("it listens on the configured address, by flag and environment") {
  const std::string path = "/tmp/igpu-e2e-" + std::to_string(::getpid()) + ".sock";
  ExporterProcess exporter({"--simulate=asleep", "--web.listen-address=unix:" + path,
                            "--web.listen-address=localhost:0", "--web.listen-address", ":0"});
  CHECK(exporter.addresses().size() == 3);
  HttpConnection local(path);
  local.send("GET /-/ready HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(parse_reply(local.receive()).status == 200);
  CHECK(exporter.stop(SIGTERM) == 0);

  // The sandbox lets the program remove no file, not even its own socket's: the next start takes it over.
  ExporterProcess next({"--simulate=asleep", "--web.listen-address=unix:" + path, "--no-sandbox"});
  HttpConnection again(path);
  again.send("GET /-/ready HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(parse_reply(again.receive()).status == 200);
  CHECK(next.stop(SIGTERM) == 0);
  CHECK(::access(path.c_str(), F_OK) != 0);

  ExporterProcess by_environment({}, {"INTEL_GPU_EXPORTER_WEB_LISTEN_ADDRESS=127.0.0.1:0",
                                      "INTEL_GPU_EXPORTER_SIMULATE=asleep", "INTEL_GPU_EXPORTER_LOG_FORMAT=json"});
  CHECK(http_get(by_environment.port(), "/metrics").status == 200);
  CHECK(by_environment.log().starts_with("{\"ts\":"));
}

TEST_CASE("what cannot work ends the start with one clear line: status 2 if the flag is wrong, 1 if not") {
  ExporterProcess first({"--simulate=asleep"});
  const std::string taken = "--web.listen-address=127.0.0.1:" + std::to_string(first.port());
  const std::vector<std::vector<std::string>> bad{
      arguments({"--bogus"}),
      arguments({"frobnicate"}),
      arguments({"--web.listen-address=127.0.0.1:0", "--simulate=nope"}),
      arguments({"--web.timeout=abc"}),
      arguments({"--web.listen-address=nonsense"}),
      arguments({"--web.listen-address=192.0.2.77:0"}),
      arguments({taken.c_str()}),
      arguments({"--web.listen-address=127.0.0.1:0", "--web.config.file=/no/such/file"}),
      arguments({"--web.listen-address=127.0.0.1:0", "--path.sysfs=/no/such/folder"}),
      arguments({"--collector.nope"}),
      arguments({"--collector.fdinfo.max-processes=many"}),
      arguments({"--log.level=loud"}),
      arguments({"--simulate"}),
  };
  for (const std::vector<std::string>& command : bad) {
    CAPTURE(command.back());
    const ProgramOutcome outcome = run_program(command);
    const bool failed = command.back() == taken || command.back().ends_with("192.0.2.77:0") ||
                        command.back().starts_with("--web.config.file");
    CHECK(outcome.status == (failed ? 1 : 2));
    CAPTURE(outcome.output);
    CHECK(outcome.output.starts_with("intel-gpu-exporter: "));
    CHECK(std::count(outcome.output.begin(), outcome.output.end(), '\n') == 1);
  }
}

TEST_CASE("an error names the environment variable that the value came from") {
  struct Case {
    std::string variable;
    std::vector<std::string> command;
  };
  const std::vector<Case> cases{
      {"INTEL_GPU_EXPORTER_WEB_CONFIG_FILE", {"serve"}},      {"INTEL_GPU_EXPORTER_WORKLOAD_RULES", {"serve"}},
      {"INTEL_GPU_EXPORTER_WORKLOAD_RULES", {"stats"}},       {"INTEL_GPU_EXPORTER_PATH_SYSFS", {"serve"}},
      {"INTEL_GPU_EXPORTER_CACERT", {"top", "host.example"}}, {"INTEL_GPU_EXPORTER_KEY", {"top", "host.example"}},
  };
  for (const Case& test : cases) {
    CAPTURE(test.variable);
    std::vector<std::string> by_variable{"env", kAnyPort, test.variable + "=/no/such/file", exporter_binary()};
    by_variable.insert(by_variable.end(), test.command.begin(), test.command.end());
    const std::string variable_error = run_program(by_variable).output;
    CAPTURE(variable_error);
    CHECK(variable_error.starts_with("intel-gpu-exporter: " + test.variable + ": "));
  }
}

TEST_CASE("--version and --help print to standard output and end with 0") {
  const ProgramOutcome version = run_program(arguments({"--version"}));
  CHECK(version.status == 0);
  CHECK(std::regex_match(version.output,
                         std::regex(R"(intel-gpu-exporter, version \d+\.\d+\.\d+ \(revision \S+, compiler .+\)\n)")));
  const ProgramOutcome help = run_program(arguments({"--help"}));
  CHECK(help.status == 0);
  CHECK(help.output.starts_with("usage: "));
}

TEST_CASE("a GPU that --gpu names and that is not here is named in the log, with those that are") {
  for (const std::vector<std::string>& chosen :
       {std::vector<std::string>{"--gpu=card9"}, {"--gpu=card0", "--gpu=card9"}}) {
    ExporterProcess exporter([&] {
      std::vector<std::string> flags = {"--simulate=tgl-broadcast", "--scrape.min-window=10ms"};
      flags.insert(flags.end(), chosen.begin(), chosen.end());
      return flags;
    }());
    const std::string log = exporter.log();
    CHECK(log.find("gpu=card9") != std::string::npos);
    CHECK(log.find("0000:00:02.0 (card0, renderD128)") != std::string::npos);
    CHECK(log.find("lspci") == std::string::npos);
    CHECK(exporter.stop(SIGTERM) == 0);
  }
}

TEST_CASE("a machine without a GPU is served, and one that comes later is found") {
  MachineTree tree;
  for (const char* directory :
       {"sys/class/drm", "sys/bus/event_source/devices", "sys/bus/pci/devices", "proc", "dev/dri"}) {
    tree.make_directory(directory);
  }
  ExporterProcess exporter({"--path.sysfs=" + tree.path("sys"), "--path.procfs=" + tree.path("proc"),
                            "--path.devfs=" + tree.path("dev"), "--scrape.min-window=10ms"});
  CHECK(exporter.log().find("no Intel GPU bound to i915 or xe") != std::string::npos);
  const Exposition empty = parse_prometheus_text(http_get(exporter.port(), "/metrics").body);
  CHECK(empty.value("intel_gpu_exporter_devices") == 0);
  CHECK(empty.find("intel_gpu_info").empty());
  CHECK(http_get(exporter.port(), "/").body.find("No Intel GPU") != std::string::npos);

  tree.lay_out("a380-i915");
  const Exposition later = parse_prometheus_text(http_get(exporter.port(), "/metrics").body);
  CHECK(*later.value("intel_gpu_exporter_devices") >= 1);
  CHECK_FALSE(later.find("intel_gpu_info").empty());
  CHECK(exporter.stop(SIGTERM) == 0);
}

TEST_SUITE_END();
