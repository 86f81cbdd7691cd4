// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "igpu/duration.h"
#include "igpu/model.h"
#include "igpu/page.h"
#include "platform/own_process.h"
#include "server/flights/flight_files.h"
#include "server/pages/routes.h"
#include "view/format/text_writer.h"

namespace igpu::exporter {
namespace {

using std::chrono::seconds;

constexpr seconds kFresh(1);
constexpr seconds kOldest(3);  // while another client's scrape is running

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kSnapshot = "/api/v1/snapshot";
constexpr std::string_view kStream = "/api/v1/stream";
constexpr std::string_view kDoctor = "/api/v1/doctor";
constexpr std::string_view kFlights = "/api/v1/flights";

enum Form : std::size_t { kFullSnapshot, kPageView, kPageWithHistory, kDoctorReport };  // of Api::pages_

// Throws std::invalid_argument.
std::chrono::milliseconds wanted_interval(std::string_view query) {
  const std::vector<std::string> wanted = query_values(query, "interval");
  if (wanted.empty()) return seconds(1);
  const std::optional<Nanoseconds> interval = parse_duration(wanted.front());
  if (wanted.size() > 1 || !interval || *interval < seconds(1) || *interval > seconds(10)) {
    throw std::invalid_argument("interval is one duration from 1s to 10s");
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(*interval);
}

// For the readings of the streams, for which no single client asks.
class StreamsRequest final : public HttpRequest {
 public:
  std::string_view method() const override { return "GET"; }
  std::string_view path() const override { return "/"; }
  std::string_view query() const override { return {}; }
  std::string_view header(std::string_view /*name*/) const override { return {}; }
  bool has_header(std::string_view /*name*/) const override { return false; }
  std::string list_header(std::string_view /*name*/) const override { return {}; }
  std::string_view client() const override { return "streams"; }
};

std::string event_of(std::string_view line) { return event_bytes(line.substr(0, line.find('\n'))); }

void write_snapshot(const ScrapeResult& result, std::chrono::system_clock::time_point begun, std::string& out) {
  write_json_line(PageView(result.lists()), begun, out);
}

PacedPage::Write page_view(const std::shared_ptr<PageHistory>& history, bool whole_history, bool flights) {
  return [history, whole_history, flights](const ScrapeResult& result, PageHistory::Time begun, std::string& out) {
    const HostModel host = model_of(PageView(result.lists()));
    if (history) history->note(host, begun);
    out = model_json(host, begun, {history.get(), whole_history, flights});
  };
}

}  // namespace

// Of the one client that scrapes for the others.
class PacedPage::Turn {
 public:
  // Requires the lock.
  explicit Turn(PacedPage& page) : page_(page), mine_(!std::exchange(page.scraping_, true)) {}
  ~Turn() {
    if (!mine_) return;
    const std::lock_guard lock(page_.mutex_);
    page_.scraping_ = false;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  PacedPage& page_;
  const bool mine_;
};

void PacedPage::answer(std::size_t form, const HttpRequest& request, HttpResponse& response) {
  const std::shared_ptr<Page> page = find(request, response);
  if (!page) return;
  Bytes text = text_of(form, *page);
  response.content_type = content_type_;
  response.headers.emplace_back("Vary", "Accept-Encoding");
  if (accepts_gzip(request.list_header("Accept-Encoding"))) {
    text = compressed_text_of(page->forms[form], *text);
    response.headers.emplace_back("Content-Encoding", "gzip");
  }
  response.shared_body = std::move(text);
}

PacedPage::Reading PacedPage::latest(std::size_t form, const HttpRequest& request, HttpResponse& response) {
  const std::shared_ptr<Page> page = find(request, response);
  return page ? Reading{page->begun, text_of(form, *page)} : Reading{};
}

// Null: the response holds the reason.
std::shared_ptr<PacedPage::Page> PacedPage::find(const HttpRequest& request, HttpResponse& response) {
  std::unique_lock lock(mutex_);
  const auto begun = clock_();
  if (last_) {
    const auto age = begun - last_->begun;
    if (age < kFresh || (scraping_ && age < kOldest)) return last_;
  }
  const Turn turn(*this);
  lock.unlock();
  auto page = std::make_shared<Page>(forms_.size());
  page->begun = begun;
  page->time = std::chrono::system_clock::now();
  page->result = metrics_.scrape_for(request, response);
  if (!page->result) return nullptr;
  const std::lock_guard again(mutex_);
  if (!last_ || last_->begun < begun) last_ = std::move(page);  // a later one may have been quicker
  return last_;
}

PacedPage::Bytes PacedPage::text_of(std::size_t form, Page& page) const {
  Texts& texts = page.forms[form];
  const std::lock_guard lock(texts.mutex);
  if (!texts.plain) {
    std::string text;
    forms_[form](*page.result, page.time, text);
    texts.plain = std::make_shared<const std::string>(std::move(text));
  }
  return texts.plain;
}

PacedPage::Bytes PacedPage::compressed_text_of(Texts& texts, const std::string& plain) {
  const std::lock_guard lock(texts.mutex);
  if (!texts.compressed) {
    std::string out;
    Gzip().compress(plain, out);
    texts.compressed = std::make_shared<const std::string>(std::move(out));
  }
  return texts.compressed;
}

Api::Api(MetricsHandler& metrics, ScrapeSource& source, FindGrants find_grants, PacedPage::Clock clock,
         std::shared_ptr<const Flights> flights, LivePage page)
    : source_(source),
      find_grants_(std::move(find_grants)),
      flights_(std::move(flights)),
      page_(std::move(page)),
      pages_(metrics, kJson,
             {write_snapshot, page_view(page_.history, false, flights_ != nullptr),
              page_view(page_.history, true, flights_ != nullptr),
              [this](const ScrapeResult& result, auto, std::string& out) { write_doctor(result, out); }},
             std::move(clock)) {}

bool Api::has(std::string_view path) const {
  if (path == kSnapshot || path == kStream || path == kDoctor) return true;
  return flights_ && path.starts_with(kFlights) && (path.size() == kFlights.size() || path[kFlights.size()] == '/');
}

void Api::answer(const HttpRequest& request, HttpResponse& response) {
  if (request.path() == kStream) {
    begin_stream(request, response);
  } else if (request.path().starts_with(kFlights)) {
    answer_flights(request, response);
  } else {
    answer_page(request, response);
  }
}

void Api::answer_page(const HttpRequest& request, HttpResponse& response) {
  if (request.path() == kDoctor) return pages_.answer(kDoctorReport, request, response);
  try {
    const std::vector<std::string> views = query_values(request.query(), "view");
    if (views.empty()) return pages_.answer(kFullSnapshot, request, response);
    const std::vector<std::string> history = query_values(request.query(), "history");
    if (views == std::vector<std::string>{"page"}) {
      const bool whole = history == std::vector<std::string>{"1"};
      if (whole || history.empty()) return pages_.answer(whole ? kPageWithHistory : kPageView, request, response);
    }
  } catch (const std::invalid_argument&) {  // an encoded zero byte
  }
  response.fail(
      400, "the only view is view=page, with history=1 or without; without a view, the answer is the whole snapshot");
}

void Api::answer_flights(const HttpRequest& request, HttpResponse& response) {
  const std::vector<std::shared_ptr<const Flight>> kept = flights_->kept();
  std::string_view name = request.path().substr(kFlights.size());
  if (name.empty()) {
    response.content_type = kJson;
    response.body = flight_list_json(kept);
    return;
  }
  name.remove_prefix(1);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const std::string form(name.substr(static_cast<std::size_t>(end - name.data())));
  const auto flight = std::ranges::find_if(kept, [n = number](const auto& one) { return one->number == n; });
  const bool lines = form == ".jsonl";
  if (error != std::errc() || flight == kept.end() || (!lines && form != ".pftrace"))
    return response.fail(404, "no such flight; /api/v1/flights lists them, and NUMBER.jsonl or NUMBER.pftrace is one");
  response.content_type = lines ? "application/jsonl" : "application/octet-stream";
  const std::lock_guard lock(flight_texts_mutex_);
  // Any local user has all of 127.0.0.0/8, ::1 and UNIX sockets: together they are one client.
  const std::string_view from = request.client();
  const bool is_local = from.starts_with('\x7f') || from.find_first_not_of('\0') == std::string_view::npos;
  const std::string client(is_local ? std::string_view() : from);
  std::size_t bytes = 0, of_client = 0;
  for (auto known = flight_texts_.begin(); known != flight_texts_.end();) {
    const auto text = known->second.text.lock();
    if (text && known->first == std::pair(number, form)) {
      response.shared_body = text;
      return;
    }
    bytes += text ? text->size() : 0;
    of_client += text && known->second.client == client ? text->size() : 0;
    known = text ? std::next(known) : flight_texts_.erase(known);
  }
  // Only who reads nothing else may have a text that is larger than his budget.
  std::shared_ptr<const std::string> text;
  if (bytes < kMostFlightBytes && of_client < kMostOfClient)
    text = std::make_shared<const std::string>(lines ? flight_json_lines(**flight)
                                                     : flight_trace(**flight, boottime_offset()));
  if (!text || (of_client > 0 && of_client + text->size() > kMostOfClient)) {
    response.fail(503, "this address, or many others, are reading large flights; try again in some seconds");
    response.headers.emplace_back("Retry-After", "10");
    return;
  }
  response.shared_body = text;
  flight_texts_[{number, form}] = {text, client};
}

void Api::begin_stream(const HttpRequest& request, HttpResponse& response) {
  Subscription subscription;
  try {
    subscription.interval = wanted_interval(request.query());
  } catch (const std::invalid_argument& error) {
    return response.fail(400, error.what());
  }
  auto place = std::make_shared<InFlight::Slot>(streams_.enter(request.client(), {}));
  if (!*place) {
    request.notice_resets();  // some may have left
    *place = streams_.enter(request.client(), {});
  }
  if (!*place) {
    response.fail(503, "all " + std::to_string(kStreams) +
                           " streams are taken; /api/v1/snapshot gives the same readings one by one");
    response.headers.emplace_back("Retry-After", "10");
    return;
  }
  const PacedPage::Reading reading = pages_.latest(kFullSnapshot, request, response);
  if (!reading.text) return;
  response.content_type = "text/event-stream";
  response.headers.emplace_back("Cache-Control", "no-store");
  response.headers.emplace_back("X-Accel-Buffering", "no");  // a proxy passes events on as they come
  response.body = event_of(*reading.text);
  subscription.made = reading.begun;
  subscription.place_lost = place->when_lost();
  subscription.place = std::move(place);
  response.subscription = std::move(subscription);
}

Event Api::next_event() {
  HttpResponse refused;
  const PacedPage::Reading reading = pages_.latest(kFullSnapshot, StreamsRequest(), refused);
  if (!reading.text) return {};
  return {std::make_shared<const std::string>(event_of(*reading.text)), reading.begun, {}};
}

void Api::write_doctor(const ScrapeResult& result, std::string& out) {
  const std::vector<Gpu> gpus = source_.gpus();
  const std::vector<Finding> findings = most_useful_first(result.findings());
  const HostModel host = model_of(PageView(result.lists()));
  DiagnosedMachine machine{gpus,
                           host.npus,
                           host.unbound,
                           findings,
                           result.failed_collectors(),
                           find_grants_ ? find_grants_(findings) : PlaceOfGrants()};
  if (page_.read_sysfs) machine.advice = advice_for(host.gpus, gpus, page_.read_sysfs);
  const BuildInfo build = build_info();
  JsonWriter json;
  json.begin_object().member("version", build.version).member("revision", build.revision);
  write_diagnosis(json, machine);
  if (page_.write_sandbox) page_.write_sandbox(json);
  json.end_object();
  out = json.take() + '\n';
}

}  // namespace igpu::exporter
