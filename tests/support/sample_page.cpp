// SPDX-License-Identifier: Apache-2.0
#include "support/sample_page.h"

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>

namespace igpu::test {

void add_sample(SampleList& list, const MetricDescriptor& metric, std::initializer_list<std::string_view> labels,
                double value) {
  list.add(metric, std::span(labels.begin(), labels.size()), value);
}

void add_histogram(SampleList& list, const MetricDescriptor& metric, std::initializer_list<std::string_view> labels,
                   std::initializer_list<std::uint64_t> counts, double sum) {
  list.add(metric, std::span(labels.begin(), labels.size()), std::span(counts.begin(), counts.size()), sum);
}

std::size_t sample_lines(const SampleList& list) {
  std::size_t lines = 0;
  for (const SampleList::Sample& sample : list.samples())
    lines += sample.metric->kind == Kind::histogram ? sample.metric->bounds.size() + 3 : 1;
  return lines;
}

void fill_varied_page(SampleList& list) {
  add_sample(list, kPageInfo, {"0000:00:02.0", "UHD Graphics 770", ""}, 1);
  add_sample(list, kPageInfo, {"0000:03:00.0", "Arc \"A770\"\\\n16G", "0"}, 1);
  add_sample(list, kPageBusy, {"0000:00:02.0", "0", "rcs0", "render", "pmu"}, 0);
  add_sample(list, kPageBusy, {"0000:03:00.0", "0", "rcs0", "render", "pmu"}, 123456.789012345);
  add_sample(list, kPageBusy, {"0000:03:00.0", "", "video", "video", "fdinfo"}, 5e-324);
  add_sample(list, kPageRatio, {"0000:00:02.0", "0", "rcs0", "render"}, 0.1);
  add_sample(list, kPageRatio, {"0000:03:00.0", "0", "rcs0", "render"}, 1.0 / 3.0);
  add_sample(list, kPageMemory, {"0000:03:00.0", "1", "quote\"back\\slash", "vram0", "total", "root"}, 17179869184.0);
  add_sample(list, kPageMemory, {"0000:03:00.0", "2", "new\nline", "vram0", "total", ""}, 9007199254740993.0);
  add_sample(list, kPageMemory, {"0000:03:00.0", "3", "\xff\xfe{}=,# EOF", "vram0", "total", ""}, 1e22);
  add_sample(list, kPageMemory, {"0000:03:00.0", "4", std::string_view("nul\0here", 8), "gtt", "total", ""},
             std::numeric_limits<double>::max());
  add_sample(list, kPageMemory, {"0000:03:00.0", "5", "日本語", "gtt", "total", ""}, -0.0);
  add_sample(list, kPageMemory, {"0000:03:00.0", "6", "\r\t\x01", "gtt", "total", ""}, -1.5);
  add_sample(list, kPageDevices, {}, 2);
  add_histogram(list, kPageWait, {"0000:03:00.0", "quote\"back\\slash"}, {1, 0, 2, 0, 3}, 1e9);
  add_histogram(list, kPageWait, {"0000:00:02.0", ""}, {0, 0, 0, 0, 0}, 0);
  add_histogram(list, kPageWait, {"", ""}, {0, 0, 0, 0, 18446744073709551615u}, 1.5);
  add_histogram(list, kPageSize, {""}, {5, 0}, 0.25);
}

void fill_large_page(SampleList& list, std::size_t series) {
  constexpr std::array<std::string_view, 4> kEngines{"rcs0", "bcs0", "vcs0", "vecs0"};
  constexpr std::array<std::string_view, 4> kClasses{"render", "copy", "video", "video_enhance"};
  constexpr std::array<std::string_view, 5> kStates{"total", "shared", "active", "resident", "purgeable"};
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> seconds(0, 100000), ratio(0, 1);
  std::uniform_int_distribution<std::uint64_t> pages(0, 1 << 20);

  const auto device = [](std::size_t i) { return "0000:" + std::to_string(10 + i % 90) + ":00.0"; };
  const std::size_t engine_series = series / 4;
  for (std::size_t i = 0; i < engine_series; ++i) {
    const std::string address = device(i / 4), gt = std::to_string(i / 360);
    add_sample(list, kPageBusy, {address, gt, kEngines[i % 4], kClasses[i % 4], "pmu"}, seconds(random));
  }
  for (std::size_t i = 0; i < engine_series; ++i) {
    const std::string address = device(i / 4), gt = std::to_string(i / 360);
    add_sample(list, kPageRatio, {address, gt, kEngines[i % 4], kClasses[i % 4]}, ratio(random));
  }
  for (std::size_t i = 0; i < series - 2 * engine_series; ++i) {
    const std::string pid = std::to_string(1000 + i / 5);
    add_sample(list, kPageMemory, {"0000:03:00.0", pid, "ffmpeg", "vram0", kStates[i % 5], "jellyfin"},
               static_cast<double>(pages(random) * 4096));
  }
}

}  // namespace igpu::test
