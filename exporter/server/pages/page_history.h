// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "igpu/device.h"
#include "igpu/feature.h"
#include "igpu/model.h"
#include "igpu/page.h"
#include "server/http/message.h"
#include "server/pages/in_flight.h"
#include "view/format/json_writer.h"
#include "view/report/fixes.h"
#include "view/report/gpu_summary.h"

namespace igpu::exporter {

// What the page at "/" draws as lines, of the last quarter of an hour, so that it has them when it opens. It is made of
// readings that others ask for; nothing is read for it. Thread-safe.
class PageHistory {
 public:
  using Time = std::chrono::system_clock::time_point;
  static constexpr std::chrono::minutes kSpan{15};
  static constexpr std::size_t kMostPoints = 900;  // one a second
  static constexpr std::size_t kMostSeries = 512;  // of 3.6 kB each: those of 32 GPUs
  static constexpr std::size_t kMostMarks = 64;

  // A point, unless the last is younger than a second.
  void note(const HostModel& host, Time time);
  // Whether the last point is older than this. A model of a reading costs more than the reading, so those that are not
  // for the page leave a point every few seconds.
  bool is_older_than(std::chrono::seconds age, Time now) const;

  std::vector<ChannelRate> channels() const;
  // When the process was first seen with a GPU, in seconds since 1970.
  double first_seen(std::uint32_t pid, const std::string& comm) const;
  // The member "history" (docs/openapi.json). time: that of the reading it goes with.
  void write(JsonWriter& json, Time time) const;

 private:
  using Key = std::pair<std::string, std::string>;  // device, what
  struct Mark {
    std::string device, kind;
    double time;
    bool operator==(const Mark&) const = default;
  };
  using Point = std::vector<std::pair<Key, double>>;
  static Point point_of(const HostModel& host);
  void put_marks(const HostModel& host);
  void put_users(const HostModel& host, double now);
  double last_time() const;  // of the newest point; 0: there is none

  mutable std::mutex mutex_;
  std::size_t next_ = 0;                      // place of the next point; the oldest, when all are taken
  std::vector<double> times_;                 // seconds since 1970
  std::map<Key, std::vector<float>> series_;  // by place; NaN: no value
  std::vector<Mark> marks_;                   // faults
  std::map<std::pair<std::uint32_t, std::string>, double> users_;  // when they were first seen
  ChannelRates rates_;
};

// Passes readings on, and leaves points of those of all collectors in the history.
class RememberingSource final : public ScrapeSource {
 public:
  RememberingSource(ScrapeSource& source, std::shared_ptr<PageHistory> history)
      : source_(source), history_(std::move(history)) {}
  std::shared_ptr<const ScrapeResult> scrape(const ScrapeRequest& request) override;
  std::vector<Gpu> gpus() override { return source_.gpus(); }
  std::vector<std::string> enabled_collectors() const override { return source_.enabled_collectors(); }

 private:
  ScrapeSource& source_;
  const std::shared_ptr<PageHistory> history_;
};

// The model as the script of the page at "/" shows it: docs/openapi.json describes the members. The rules of the model
// are applied, so that the script has none of its own. What is not known is left out.
struct PageExtras {
  const PageHistory* history = nullptr;  // of channels, and of when users were first seen. Null: none
  bool whole_history = false;            // also the lines of the last quarter of an hour
  bool flights = false;                  // there is a flight recorder
};
std::string model_json(const HostModel& host, std::chrono::system_clock::time_point time,
                       const PageExtras& extras = {});

// Serves the files that the page at "/" loads: those of server/pages/assets, which are compiled into the program.
// Thread-safe.
class Assets {
 public:
  // False: there is no file at that path: "/assets/page.js", or in folder(), whose files browsers keep.
  bool answer(const HttpRequest& request, HttpResponse& response);
  static bool has(std::string_view path);
  static std::string folder();  // "assets/4711/": another one for each version of the files

 private:
  std::once_flag once_;
  std::vector<std::shared_ptr<const std::string>> compressed_;  // filled at the first request that accepts gzip
};

// The page at "/": first problems that an operator can fix, then the current values of each GPU, then missing features.
// page and findings are from the same scrape. It is complete without scripts; server/pages/assets/page.js replaces its
// tables with live ones. machine: its name, for the title; "" if it is not known.
std::string index_page(std::string_view telemetry_path, std::span<const Gpu> gpus, std::span<const Finding> findings,
                       const PageView& page, Seconds now, const PlaceOfGrants& place = {},
                       std::string_view machine = {});

}  // namespace igpu::exporter
