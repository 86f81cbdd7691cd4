// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
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
#include <vector>

#include "igpu/flight.h"
#include "igpu/monitor.h"
#include "server/http/message.h"
#include "server/pages/in_flight.h"
#include "server/pages/metrics_handler.h"
#include "server/pages/page_history.h"
#include "server/self/own_metrics.h"
#include "view/format/json_writer.h"
#include "view/report/fixes.h"

namespace igpu::exporter {

// Pages that many clients poll, each another form of the same reading: at most one scrape a second serves all of them,
// and there is no scrape without a request. A client gets a page whose scrape began at most a second ago, or, while
// another client's scrape is running, at most three. Thread-safe.
class PacedPage {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  // begun: the wall-clock time at which the scrape began. Several threads may call it at the same time.
  using Write = std::function<void(const ScrapeResult&, std::chrono::system_clock::time_point begun, std::string& out)>;

  // A form is written for the first client that requests it. metrics must outlive the page.
  PacedPage(MetricsHandler& metrics, std::string_view content_type, std::vector<Write> forms,
            Clock clock = std::chrono::steady_clock::now)
      : metrics_(metrics), content_type_(content_type), forms_(std::move(forms)), clock_(std::move(clock)) {}

  // form: the index in `forms`.
  void answer(std::size_t form, const HttpRequest& request, HttpResponse& response);

  using Bytes = std::shared_ptr<const std::string>;
  struct Reading {
    std::chrono::steady_clock::time_point begun;
    Bytes text;  // null: the response has the reason
  };
  // The page that answer() would send.
  Reading latest(std::size_t form, const HttpRequest& request, HttpResponse& response);

 private:
  struct Texts {
    std::mutex mutex;         // a form that is slow to write delays no client of another one
    Bytes plain, compressed;  // null until a client requests or accepts it
  };
  struct Page {
    explicit Page(std::size_t form_count) : forms(form_count) {}

    std::chrono::steady_clock::time_point begun;
    std::chrono::system_clock::time_point time;  // of the same moment
    std::shared_ptr<const ScrapeResult> result;
    std::vector<Texts> forms;
  };
  class Turn;

  std::shared_ptr<Page> find(const HttpRequest& request, HttpResponse& response);
  Bytes text_of(std::size_t form, Page& page) const;
  static Bytes compressed_text_of(Texts& texts, const std::string& plain);

  MetricsHandler& metrics_;
  const std::string_view content_type_;
  const std::vector<Write> forms_;
  const Clock clock_;
  std::mutex mutex_;            // guards what follows
  std::shared_ptr<Page> last_;  // null before the first page
  bool scraping_ = false;       // for the next one
};

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

// The state of the program's life cycle, for /-/ready.
class Readiness {
 public:
  enum class State { starting, ready, draining };
  State state() const { return state_.load(); }
  void set(State state) { state_.store(state); }

 private:
  std::atomic<State> state_ = State::starting;
};

// The flight recorder, if there is one.
struct FlightAccess {
  std::shared_ptr<Flights> flights = nullptr;
  std::function<bool()> clients_are_known = {};  // true if every client must authenticate at present
};

// Routes requests to pages:
//   TELEMETRY_PATH   the metrics
//   /                a page for people, and /assets/... that it loads
//   /api/v1/...      JSON, see Api
//   /-/healthy       200 while the process runs
//   /-/ready         200 while it serves scrapes, 503 before that and during shutdown; with ?gpu=healthy 503 also while
//                    a GPU is wedged or in survivability mode
//   /debug/flight    POST requests a flight. If clients need not authenticate, only for clients on this host, and not
//                    through a proxy, behind which every client would seem to be on this host; never for web sites
// Otherwise GET and HEAD only; everything else is 404 or 405. Paths match exactly.
class Routes final : public HttpHandler {
 public:
  // All of them must outlive the routes.
  Routes(std::string telemetry_path, MetricsHandler& metrics, ScrapeSource& source, RequestMetrics& requests,
         const Readiness& readiness, FindGrants find_grants = {}, FlightAccess flight_access = {}, LivePage page = {});

  void handle(const HttpRequest& request, HttpResponse& response) override;
  void answered(int status) override { requests_.count(status); }
  Event next_event() override;

 private:
  void request_flight(const HttpRequest& request, HttpResponse& response) const;
  void index(const HttpRequest& request, HttpResponse& response);
  void ready(const HttpRequest& request, HttpResponse& response);
  void gpus_ready(const HttpRequest& request, HttpResponse& response);

  std::string telemetry_path_;
  MetricsHandler& metrics_;
  ScrapeSource& source_;
  RequestMetrics& requests_;
  const Readiness& readiness_;
  const FindGrants find_grants_;
  const FlightAccess flight_access_;
  const std::string host_;
  Api api_;
  Assets assets_;
};

}  // namespace igpu::exporter
