// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "view/report/gpu_summary.h"

using namespace igpu;
using namespace igpu::exporter;

namespace {

// A machine whose channel "news" has done so many jobs.
HostModel at(double jobs) {
  ModelReader reader;
  const std::vector<LabelPair> info{
      {"device", "0000:03:00.0"}, {"card", "card2"}, {"driver", "xe"}, {"kind", "discrete"}, {"name", "B580"}};
  reader.add("intel_gpu_info", info, 1);
  const std::vector<LabelPair> news{{"device", "0000:03:00.0"}, {"workload", "news"}};
  reader.add("intel_gpu_workload_video_jobs_total", news, jobs);
  return reader.finish();
}

struct Watched {
  // For so many seconds, one reading every `step`.
  ChannelRate run(double seconds, double rate, double step = 1) {
    for (double end = now + seconds; now < end;) {
      now += step;
      jobs += rate * step;
      rates.note(at(jobs), Seconds{now});
    }
    REQUIRE(rates.list().size() == 1);
    return rates.list().front();
  }
  ChannelRates rates;
  double now = 1000, jobs = 0;
};

}  // namespace

TEST_SUITE_BEGIN("channel_rates");

TEST_CASE("a channel's rate is that of the last five seconds, and after a minute what is constant about it is known") {
  Watched channel;
  ChannelRate rate = channel.run(10, 50);
  CHECK(rate.name == "news");
  CHECK(rate.cards == std::vector<std::string>{"card2"});
  REQUIRE(rate.rate);
  CHECK(*rate.rate == doctest::Approx(50));
  CHECK_FALSE(rate.nominal);
  rate = channel.run(60, 50);
  REQUIRE(rate.nominal);
  CHECK(*rate.nominal == doctest::Approx(50));
  CHECK(rate.stalled == 0);
}

TEST_CASE("the first reading opens everything and takes two seconds: no rate is made of its time") {
  ChannelRates rates;
  const auto rate_at = [&](double jobs, double now) {
    rates.note(at(jobs), Seconds{now});
    return rates.list().front().rate;
  };
  CHECK_FALSE(rate_at(0, 1002));  // counted at 1000
  CHECK_FALSE(rate_at(150, 1003));
  CHECK(rate_at(200, 1004) == std::optional(50.0));
}

TEST_CASE("a channel that stands still says for how long, and one that drops pictures is below its rate") {
  Watched channel;
  channel.run(100, 25);
  ChannelRate rate = channel.run(12, 0);
  CHECK(rate.stalled == doctest::Approx(12));
  CHECK(rate.rate == std::optional(0.0));
  rate = channel.run(10, 20);
  CHECK(rate.stalled == 0);
  REQUIRE(rate.rate);
  CHECK(*rate.rate == doctest::Approx(20));
  CHECK(rate.nominal == std::optional(25.0));
}

TEST_CASE("a rate that is not constant is nobody's nominal one, so nothing is called a stall") {
  Watched channel;
  for (int i = 0; i < 100; ++i) channel.run(1, 10 + 3 * (i % 17));
  CHECK_FALSE(channel.run(1, 10).nominal);
  CHECK(channel.run(30, 0).stalled == 0);
}

TEST_CASE("readings fifteen seconds apart are enough") {
  Watched channel;
  CHECK(channel.run(150, 25, 15).nominal == std::optional(25.0));
  CHECK(channel.run(30, 0, 15).stalled == doctest::Approx(30));
}

TEST_CASE("a slower rate becomes the nominal one after a quarter of an hour") {
  Watched channel;
  channel.run(120, 50);
  CHECK(channel.run(600, 25).nominal == std::optional(50.0));
  CHECK(channel.run(1200, 25).nominal == std::optional(25.0));
}

TEST_CASE("a channel that began anew, and one that ended") {
  Watched channel;
  channel.run(100, 25);
  channel.jobs = 0;
  CHECK_FALSE(channel.run(2, 25).nominal);
  channel.rates.note(HostModel(), Seconds{channel.now + 1});
  CHECK(channel.rates.list().empty());
}

TEST_SUITE_END();
