// SPDX-License-Identifier: Apache-2.0
//
// Our serializers beside prometheus-cpp's TextSerializer, in one run: the same series on both sides, ours from a
// PageView (what a scrape hands over), theirs from a vector of MetricFamily. The best of several rounds counts.
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "igpu/collectable.h"
#include "support/sample_page.h"
#include "view/format/text_writer.h"

namespace {

using Clock = std::chrono::steady_clock;

// Microseconds of the fastest call.
template <class F>
double best(std::size_t rounds, F&& call) {
  double fastest = 1e300;
  for (std::size_t i = 0; i < rounds; ++i) {
    const auto begin = Clock::now();
    call();
    fastest = std::min(fastest, std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return fastest;
}

}  // namespace

int main() {
  std::printf("%8s %10s %14s %14s %14s %12s %10s\n", "series", "bytes", "prometheus-cpp", "ours, text", "ours, OM",
              "gzip of it", "ratio");
  bool good = true;
  for (const std::size_t series : {std::size_t{100}, std::size_t{1000}, std::size_t{10000}}) {
    igpu::SampleList list;
    igpu::test::fill_large_page(list, series);
    const igpu::SampleList* lists[] = {&list};
    const auto families = igpu::to_prometheus_families(igpu::PageView(lists));
    const prometheus::TextSerializer theirs;
    const std::size_t rounds = 300000 / series + 20;

    std::size_t sink = 0;
    const double their_time = best(rounds, [&] { sink += theirs.Serialize(families).size(); });
    std::string text, open, packed;
    // Grouping into families is part of our side: it is what TextSerializer's input has already been through.
    const double our_time = best(rounds, [&] {
      text.clear();
      igpu::exporter::write_prometheus_text(igpu::PageView(lists), text);
    });
    const double open_time = best(rounds, [&] {
      open.clear();
      igpu::exporter::write_openmetrics(igpu::PageView(lists), open);
    });
    igpu::exporter::Gzip gzip;
    const double gzip_time = best(rounds / 10, [&] { gzip.compress(text, packed); });
    const double ratio = their_time / our_time;
    std::printf("%8zu %10zu %11.1f us %11.1f us %11.1f us %9.1f us %9.1fx\n", series, text.size(), their_time, our_time,
                open_time, gzip_time, ratio);
    good = good && ratio >= 7 && sink > 0;
  }
  std::printf("aim: at least 7x: %s\n", good ? "reached" : "MISSED");
  return good ? 0 : 1;
}
