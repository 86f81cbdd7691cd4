// SPDX-License-Identifier: Apache-2.0
#include "collector/facts.h"

#include <doctest/doctest.h>

using namespace igpu;

namespace {

// Facts of two collectors.
struct Heat {
  double celsius = 0;
};
struct Noise {
  double decibel = 0;
};

const std::string kIgpu = "0000:00:02.0", kDgpu = "0000:03:00.0";

}  // namespace

TEST_SUITE_BEGIN("facts");

TEST_CASE("what a collector measured of a GPU is there for those that run later") {
  FactBoard::Waiting waiting;
  FactBoard facts(waiting);
  CHECK_FALSE(facts.get<Heat>(kDgpu));
  facts.put(kDgpu, Heat{61});
  REQUIRE(facts.get<Heat>(kDgpu));
  CHECK(facts.get<Heat>(kDgpu)->celsius == 61);
  CHECK_FALSE(facts.get<Heat>(kIgpu));
  CHECK_FALSE(facts.get<Noise>(kDgpu));  // facts of one GPU are told apart by their types
}

TEST_CASE("a second measurement replaces the first; who has read that one keeps it") {
  FactBoard::Waiting waiting;
  FactBoard facts(waiting);
  facts.put(kDgpu, Heat{61});
  const auto first = facts.get<Heat>(kDgpu);
  facts.put(kDgpu, Heat{62});
  CHECK(facts.get<Heat>(kDgpu)->celsius == 62);
  CHECK(first->celsius == 61);
}

TEST_CASE("the measurements of all GPUs") {
  FactBoard::Waiting waiting;
  FactBoard facts(waiting);
  CHECK(facts.by_device<Heat>().empty());
  facts.put(kDgpu, Heat{61});
  facts.put(kIgpu, Heat{50});
  facts.put(kIgpu, Noise{20});
  const auto all = facts.by_device<Heat>();
  REQUIRE(all.size() == 2);
  CHECK(all.at(kIgpu).celsius == 50);
  CHECK(all.at(kDgpu).celsius == 61);
}

TEST_CASE("a fact of the machine belongs to no device") {
  FactBoard::Waiting waiting;
  FactBoard facts(waiting);
  facts.put({}, Noise{30});
  CHECK(facts.get<Noise>()->decibel == 30);
  CHECK_FALSE(facts.get<Noise>(kDgpu));
}

TEST_CASE("a measurement ends with its scrape, an event waits until it is taken") {
  FactBoard::Waiting waiting;
  {
    FactBoard first_scrape(waiting);
    first_scrape.put(kDgpu, Heat{61});
    first_scrape.post(Noise{90});
    first_scrape.post(Noise{95});
  }
  FactBoard second_scrape(waiting);
  CHECK_FALSE(second_scrape.get<Heat>(kDgpu));
  const auto events = second_scrape.take<Noise>();
  REQUIRE(events.size() == 2);
  CHECK(events[0].decibel == 90);
  CHECK(events[1].decibel == 95);
  CHECK(second_scrape.take<Noise>().empty());
  CHECK(second_scrape.take<Heat>().empty());
}

TEST_CASE("events that no collector takes are bounded: the oldest are dropped") {
  FactBoard::Waiting waiting;
  FactBoard facts(waiting);
  for (std::size_t i = 0; i <= FactBoard::kMostWaiting; ++i) facts.post(Noise{static_cast<double>(i)});
  const auto events = facts.take<Noise>();
  CHECK(events.size() == FactBoard::kMostWaiting);
  CHECK(events.front().decibel == 1);
}

TEST_SUITE_END();
