// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "kernel/pmu/pmu_files.h"

using namespace igpu;

namespace {

std::vector<PmuField> fields(std::initializer_list<std::pair<const char*, const char*>> files) {
  std::vector<PmuField> all;
  for (const auto& [name, text] : files) {
    auto field = parse_pmu_field(name, text);
    REQUIRE(field);
    all.push_back(std::move(*field));
  }
  return all;
}

std::vector<PmuField> xe_fields() {
  return fields({{"event", "config:0-11\n"},
                 {"engine_instance", "config:12-19\n"},
                 {"engine_class", "config:20-27\n"},
                 {"function", "config:44-59\n"},
                 {"gt", "config:60-63\n"}});
}

}  // namespace

TEST_SUITE_BEGIN("pmu format");

TEST_CASE("a format file names a config word and its bits") {
  const auto simple = parse_pmu_field("i915_eventid", "config:0-20\n");
  REQUIRE(simple);
  CHECK(simple->word == 0);
  CHECK(simple->ranges == std::vector<PmuField::Range>{{0, 20}});

  const auto split = parse_pmu_field("event", "config:0-7,21\n");
  REQUIRE(split);
  CHECK(split->ranges == std::vector<PmuField::Range>{{0, 7}, {21, 21}});

  CHECK(parse_pmu_field("filter", "config1:3")->word == 1);
  CHECK(parse_pmu_field("filter", "config2:0-63")->word == 2);
}

TEST_CASE("invalid format files are rejected") {
  for (const char* text : {"", "config", "config:", "config:x", "config:5-3", "config:0-64", "config:-1", "config9:0",
                           "0-7", "config:1,"}) {
    INFO(text);
    // A comma at the end has nothing behind it and is let through.
    CHECK(parse_pmu_field("event", text).has_value() == (std::string_view(text) == "config:1,"));
  }
}

TEST_CASE("a value that is spread over split bits") {
  const auto field = parse_pmu_field("event", "config:0-7,21");
  PmuConfig config{};
  CHECK(field->place(0x1ff, config));
  CHECK(config[0] == 0x2000ff);
  CHECK_FALSE(field->place(0x200, config));
  CHECK(config[0] == 0x2000ff);
}

TEST_CASE("events of i915 are whole configs; those of its second GT fit no format file") {
  const auto i915 = fields({{"i915_eventid", "config:0-20\n"}});
  CHECK(parse_pmu_event("config=0x2011\n", i915)->front() == 0x2011);
  CHECK(parse_pmu_event("config=0x0\n", i915)->front() == 0);  // rcs0-busy
  CHECK(parse_pmu_event("config=0x1000000000100003\n", i915)->front() == 0x1000000000100003);
}

TEST_CASE("events of the memory controllers have two terms") {
  const auto imc = fields({{"event", "config:0-7\n"}, {"umask", "config:8-15\n"}});
  CHECK(parse_pmu_event("event=0xff,umask=0x20\n", imc)->front() == 0x20ff);
  CHECK(parse_pmu_event("event=0x01", imc)->front() == 1);
}

TEST_CASE("events of xe are completed by GT, class and instance") {
  const auto xe = xe_fields();
  const auto with = [&](const char* text, std::uint64_t gt, std::uint64_t engine_class, std::uint64_t instance) {
    auto config = parse_pmu_event(text, xe);
    REQUIRE(config);
    CHECK(place_pmu_term("gt", gt, xe, *config));
    CHECK(place_pmu_term("engine_class", engine_class, xe, *config));
    CHECK(place_pmu_term("engine_instance", instance, xe, *config));
    return config->front();
  };
  CHECK(with("event=0x02", 0, 0, 0) == 0x2);
  CHECK(with("event=0x02", 0, 1, 0) == 0x100002);
  CHECK(with("event=0x02", 1, 2, 0) == 0x1000000000200002);
  CHECK(with("event=0x03", 1, 2, 1) == 0x1000000000201003);
  PmuConfig config{};
  CHECK(place_pmu_term("function", 1, xe, config));
  CHECK(config[0] == 0x0000100000000000);
  CHECK_FALSE(place_pmu_term("gt", 16, xe, config));
  CHECK_FALSE(place_pmu_term("tile", 0, xe, config));
}

TEST_CASE("a term without a value is 1, decimal numbers count, other words do not") {
  const auto imc = fields({{"event", "config:0-7"}, {"edge", "config:18"}});
  CHECK(parse_pmu_event("event=0x2,edge", imc)->front() == 0x40002);
  CHECK(parse_pmu_event("event=10", imc)->front() == 10);
  for (const char* text :
       {"", "\n", "event=", "event=?", "event=0x100", "umask=0x1", "=3", ",event=1", "event=0x1 0x2"}) {
    INFO(text);
    CHECK_FALSE(parse_pmu_event(text, imc));
  }
}

TEST_CASE("a cpumask lists single CPUs, ranges, or both") {
  CHECK(parse_cpu_list("0\n") == std::vector<int>{0});
  CHECK(parse_cpu_list("0,8\n") == std::vector<int>{0, 8});
  CHECK(parse_cpu_list("0-3\n") == std::vector<int>{0, 1, 2, 3});
  CHECK(parse_cpu_list("4,0-1,4") == std::vector<int>{0, 1, 4});
  for (const char* text : {"", "\n", "a", "0-", "3-1", "-1", "0-99999999"}) CHECK(parse_cpu_list(text).empty());
}
