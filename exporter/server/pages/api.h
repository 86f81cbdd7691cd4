// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "igpu/flight.h"
#include "server/http/message.h"
#include "server/pages/in_flight.h"
#include "server/pages/metrics_handler.h"
#include "server/pages/paced_page.h"
#include "server/pages/page_history.h"
#include "server/pages/scrape_source.h"
#include "view/format/json_writer.h"
#include "view/report/diagnosis_json.h"

namespace igpu::exporter {

// What the page at "/" and the doctor have beside a reading. All of it may be empty.
struct LivePage {
  std::string host = {};                                // this machine's name, for the title
  std::shared_ptr<PageHistory> history = nullptr;       // null: lines begin when the page opens
  ReadSysfs read_sysfs = {};                            // for advice
  std::function<void(JsonWriter&)> write_sandbox = {};  // the member "sandbox" of the doctor's answer
};

// JSON for programs, and for the script of the page at "/" (docs/integrations.md):
//   /api/v1/snapshot   what `stats --format json` prints; ?view=page: the model of the machine as the page shows it
//   /api/v1/stream     the same again and again, as server-sent events; ?interval=1s to 10s. An event "lost" says how
//                      many a client missed because it had not yet received an earlier one
//   /api/v1/flights    list of the flights that the recorder kept; NUMBER.jsonl and NUMBER.pftrace below it are one of
//                      them. 404 without a recorder
//   /api/v1/doctor     what cannot be read on this machine, why, and what would fix it
class Api {
 public:
  static constexpr unsigned kStreams = 64;  // at the same time; clients share them as they share scrapes
  // Size of the flights that are being sent, to all addresses and to one (loopback addresses are one): another may
  // begin below it.
  static constexpr std::size_t kMostFlightBytes = 32U << 20, kMostOfClient = 8U << 20;

  // All must outlive the API.
  Api(MetricsHandler& metrics, ScrapeSource& source, FindGrants find_grants,
      PacedPage::Clock clock = std::chrono::steady_clock::now, std::shared_ptr<const Flights> flights = nullptr,
      LivePage page = {});

  bool has(std::string_view path) const;
  void answer(const HttpRequest& request, HttpResponse& response);  // has(path) must be true
  Event next_event();                                               // when a stream has something to send

 private:
  void begin_stream(const HttpRequest& request, HttpResponse& response);
  void answer_page(const HttpRequest& request, HttpResponse& response);
  void answer_flights(const HttpRequest& request, HttpResponse& response);
  void write_doctor(const ScrapeResult& result, std::string& out);

  ScrapeSource& source_;
  const FindGrants find_grants_;
  const std::shared_ptr<const Flights> flights_;  // null: no recorder
  const LivePage page_;
  // By flight and form. Slow clients share the bytes, which count for the one that asked first. One flight is formatted
  // at a time, and none while those that are being sent have kMostFlightBytes.
  struct SharedText {
    std::weak_ptr<const std::string> text;
    std::string client;
  };
  std::mutex flight_texts_mutex_;
  std::map<std::pair<std::uint64_t, std::string>, SharedText, std::less<>> flight_texts_;
  PacedPage pages_;
  InFlight streams_{kStreams};
};

}  // namespace igpu::exporter
