// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "collector/sampling/flight_recorder.h"

using namespace igpu;
using namespace igpu::sampling;
using namespace std::chrono_literals;

namespace {

FlightTrigger trigger(std::string_view text) {
  const auto parsed = parse_flight_trigger(text);
  CAPTURE(text);
  REQUIRE(std::holds_alternative<FlightTrigger>(parsed));
  return std::get<FlightTrigger>(parsed);
}

std::string refusal(std::string_view text) {
  const auto parsed = parse_flight_trigger(text);
  CAPTURE(text);
  REQUIRE(std::holds_alternative<std::string>(parsed));
  return std::get<std::string>(parsed);
}

}  // namespace

TEST_SUITE_BEGIN("flight_trigger");

TEST_CASE("each kind of trigger") {
  CHECK(trigger("engine_busy{class=video}>0.98/5s") == FlightTrigger{FlightCause::engine_busy, "video", 0.98, 5s});
  CHECK(trigger("engine_busy>0.5/100ms") == FlightTrigger{FlightCause::engine_busy, "", 0.5, 100ms});
  CHECK(trigger("throttled/2s") == FlightTrigger{FlightCause::throttled, "", 0, 2s});
  CHECK(trigger("idle_gap{class=video_enhance}>0.5s") ==
        FlightTrigger{FlightCause::idle_gap, "video_enhance", 0, 500ms});
  CHECK(trigger("scrape_failed") == FlightTrigger{FlightCause::scrape_failed, "", 0, 0ns});
}

TEST_CASE("a typo names the nearest word and all that is allowed") {
  CHECK(refusal("engine_bsy>0.98/5s") ==
        "names \"engine_bsy\", which is no trigger; did you mean engine_busy? There are engine_busy, throttled, "
        "idle_gap, scrape_failed");
  CHECK(refusal("engine_busy{class=vidoe}>0.98/5s") ==
        "names \"vidoe\", which is no class of engines; did you mean video? There are render, copy, video, "
        "video_enhance, compute");
  CHECK(refusal("hang").find("did you mean") == std::string::npos);
}

TEST_CASE("what is not a trigger is refused with what one looks like") {
  for (const char* text : {"",
                           "engine_busy",
                           "engine_busy/5s",
                           "engine_busy>0.9",
                           "engine_busy>0.9/",
                           "engine_busy>0.9/0s",
                           "engine_busy>0.9/5",
                           "engine_busy>0.9/-5s",
                           "engine_busy>1/5s",
                           "engine_busy>nan/5s",
                           "engine_busy>inf/5s",
                           "engine_busy>1e9/5s",
                           "engine_busy{class=video>0.9/5s",
                           "engine_busy{gt=0}>0.9/5s",
                           "throttled",
                           "throttled>2s",
                           "throttled{class=video}/2s",
                           "throttled/2s ",
                           "idle_gap/2s",
                           "idle_gap>0",
                           "scrape_failed/2s",
                           "scrape_failed ",
                           " throttled/2s",
                           "throttled/2s,scrape_failed"}) {
    CHECK_FALSE(refusal(text).empty());
  }
}
