// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "igpu/model.h"

namespace igpu::exporter {

// A channel (snapshot::Channel) over time. What is constant about one is its number of video jobs a second: pictures,
// or a multiple of them (docs/tracing.md, "How many jobs a picture is").
struct ChannelRate {
  std::string name;
  std::vector<std::string> cards;
  std::optional<double> rate;     // jobs a second over the last five seconds, or since the reading before
  std::optional<double> nominal;  // the highest constant rate of the last quarter of an hour
  double stalled = 0;             // seconds without a job; 0 unless it has a nominal rate
};

class ChannelRates {
 public:
  // A reading; earlier ones and those within half a second of the last are ignored.
  void note(const HostModel& host, Seconds now);
  const std::vector<ChannelRate>& list() const { return list_; }  // by name, of the last reading

 private:
  struct Reading {
    double at, jobs;
  };
  struct Course {
    std::deque<Reading> recent;  // of the last five seconds, and the one before
    std::deque<Reading> rates;   // jobs: a second; one for every five seconds
    double moved = 0;            // when a job was last done
    std::optional<double> nominal;
    double held = 0;  // when it last had the nominal rate

    ChannelRate next(const snapshot::Channel& channel, double now);
  };
  double last_ = 0;
  std::map<std::string, Course, std::less<>> courses_;
  std::vector<ChannelRate> list_;
};

}  // namespace igpu::exporter
