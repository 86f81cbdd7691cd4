// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cli/flags.h"
#include "cli/options.h"
#include "cli/output.h"

using namespace igpu;
using namespace igpu::exporter;

namespace {

Options options(const std::vector<std::string>& words) {
  CommandLine line = parse_command_line(words);
  return options_from(line);
}

std::string refused(const std::vector<std::string>& words) {
  try {
    (void)options(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_SUITE_BEGIN("flights_flags");

TEST_CASE("the flight recorder is on with samples, and its flags need them") {
  CHECK_FALSE(has_flight_recorder(options({}).monitor));
  CHECK(has_flight_recorder(options({"--sample.interval=100ms"}).monitor));
  CHECK(has_flight_recorder(options({"--collector.samples"}).monitor));
  CHECK_FALSE(has_flight_recorder(options({"--sample.interval=100ms", "--no-collector.samples"}).monitor));
  for (const char* flag : {"--flight.length=30s", "--flight.trigger=throttled/2s", "--flight.directory=/var/lib/x"}) {
    CAPTURE(flag);
    CHECK(refused({flag}).find("needs --sample.interval") != std::string::npos);
    CHECK(refused({flag, "--sample.interval=100ms"}) == "accepted");
  }
}

TEST_CASE("triggers are several flags; a wrong one is named with what is meant") {
  const Options two = options({"--sample.interval=100ms", "--flight.trigger=throttled/2s",
                               "--flight.trigger=engine_busy{class=video}>0.98/5s"});
  CHECK(two.monitor.collector_options.at("flight.trigger").size() == 2);
  CHECK(refused({"--sample.interval=1s", "--flight.trigger=throtled/2s"}) ==
        "--flight.trigger: \"throtled/2s\" names \"throtled\", which is no trigger; did you mean throttled? There are "
        "engine_busy, throttled, idle_gap, scrape_failed");
  for (const char* length : {"0s", "999ms", "11m", "x"}) {
    CAPTURE(length);
    CHECK(refused({"--sample.interval=1s", std::string("--flight.length=") + length}).find("--flight.length") == 0);
  }
}

TEST_CASE("a flight has a bounded number of samples") {
  CHECK(refused({"--sample.interval=50ms", "--flight.length=10m"}) == "accepted");
  CHECK(refused({"--sample.interval=10ms", "--flight.length=2m"}) == "accepted");
  CHECK(refused({"--sample.interval=10ms", "--flight.length=121s"}) ==
        "--flight.length: \"121s\" holds more than 12000 samples; sample less often, or keep less");
}

TEST_CASE("the command's flags") {
  const Options one = options({"flights", "rack1", "--number=3", "--format=pftrace", "-o", "x"});
  CHECK(one.operands == std::vector<std::string>{"rack1"});
  CHECK(one.flights.number == 3);
  CHECK(one.flights.trace);
  CHECK(one.flights.file == "x");
  CHECK(refused({"flights", "-o", "x"}) == "-o needs --number N");
  CHECK(refused({"flights", "--format=csv", "--number=1"}).find("jsonl, pftrace") != std::string::npos);
}

TEST_SUITE_END();
