// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "server/flights/flight_files.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("flight_list");

TEST_CASE("the list that the page writes is read back and printed") {
  Flight flight;
  flight.number = 7;
  flight.event = {FlightCause::hang, "0000:03:00.0", "job \"x\" \x1b[31m\n", 3s};
  flight.unix_offset = std::chrono::seconds(1'700'000'000);
  flight.more_events = 2;
  Flight request;
  request.number = 8;
  request.unix_offset = std::chrono::seconds(1'700'000'100);
  const std::vector<std::shared_ptr<const Flight>> kept{std::make_shared<const Flight>(flight),
                                                        std::make_shared<const Flight>(request)};
  const auto list = parse_flight_list(flight_list_json(kept));
  REQUIRE(list);
  REQUIRE(list->size() == 2);
  CHECK(list->front().detail == flight.event.detail);
  CHECK(flight_table(*list) ==
        "NUMBER  TIME                  CAUSE    DEVICE        DETAIL          MORE\n"
        "7       2023-11-14 22:13:23Z  hang     0000:03:00.0  job \"x\" ?[31m?  2\n"
        "8       2023-11-14 22:15:00Z  request  -             -               0\n");
}

TEST_CASE("what is no such list is refused, and what is new in it skipped") {
  for (const char* text : {"", "[", "[]x", "{}", "[{]", "[{\"number\":}]", "[{\"number\":1e999}]", "[{\"cause\":\"a}]",
                           "[{\"cause\":\"\\x\"}]", "[{\"cause\":\"\\u12\"}]", "[{\"number\":1},]", "null"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_flight_list(text));
  }
  CHECK(parse_flight_list(" [ ] ")->empty());
  const auto list = parse_flight_list("[{\"new\":5, \"number\" : 3,\"other\":\"x\"},{}]");
  REQUIRE(list);
  CHECK(list->at(0).number == 3);
  CHECK(flight_table(*list).find("1970-01-01") != std::string::npos);
}

TEST_CASE("files of a folder") {
  const std::vector<FlightFile> files{{"flight-1-hang.pftrace", 4096, true}, {"flight-2-hang.pftrace", 7, false}};
  CHECK(flight_file_table(files) ==
        "FILE                   BYTES  STATE\n"
        "flight-1-hang.pftrace  4096   whole\n"
        "flight-2-hang.pftrace  7      cut or damaged\n");
  CHECK(flight_file_json(files) ==
        "[{\"file\":\"flight-1-hang.pftrace\",\"bytes\":4096,\"whole\":true},"
        "{\"file\":\"flight-2-hang.pftrace\",\"bytes\":7,\"whole\":false}]\n");
}

TEST_SUITE_END();
