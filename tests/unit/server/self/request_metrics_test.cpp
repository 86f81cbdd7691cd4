// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "server/self/own_metrics.h"

using namespace igpu;
using exporter::RequestMetrics;

namespace {

std::map<std::string, double> counts(const RequestMetrics& metrics) {
  SampleList list;
  metrics.add_to(list);
  std::map<std::string, double> found;
  for (const SampleList::Sample& sample : list.samples())
    found[std::string(list.label_value(sample, 0))] = sample.value;
  return found;
}

}  // namespace

TEST_SUITE_BEGIN("request_metrics");

TEST_CASE("the usual codes exist from the start, others after their first response") {
  RequestMetrics metrics;
  CHECK(counts(metrics) == std::map<std::string, double>{{"200", 0}, {"500", 0}, {"503", 0}});
  metrics.count(200);
  metrics.count(404);
  metrics.count(404);
  CHECK(counts(metrics) == std::map<std::string, double>{{"200", 1}, {"404", 2}, {"500", 0}, {"503", 0}});
}

TEST_CASE("invalid codes are not counted") {
  RequestMetrics metrics;
  metrics.count(-1);
  metrics.count(600);
  CHECK(counts(metrics).size() == 3);
}

TEST_SUITE_END();
