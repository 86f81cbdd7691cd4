// SPDX-License-Identifier: Apache-2.0
#include "server/pages/metrics_handler.h"

#include <stdexcept>

#include "igpu/words.h"
#include "platform/own_process.h"
#include "text/text.h"

namespace igpu::exporter {
namespace {

constexpr int kAttempts = 32;  // to get a slot while others are taken and freed

// Address, program and question: two scrapers on one host differ by the program, and two jobs of one Prometheus by what
// they ask for. A HEAD request has no page, so it does not end the window of the GET requests.
std::string identity_of(const HttpRequest& request) {
  constexpr std::size_t kLongestPart = 256;
  std::string identity(request.client());
  for (const std::string_view part : {request.method(), request.header("User-Agent"), request.query()}) {
    identity += '\n';
    identity += part.substr(0, kLongestPart);
  }
  return identity;
}

}  // namespace

CollectorSet chosen_collectors(std::string_view query, const std::vector<std::string>& known,
                               const std::vector<std::string>& enabled) {
  std::vector<std::string> collect = query_values(query, "collect[]");
  const std::vector<std::string> exclude = query_values(query, "exclude[]");
  if (!collect.empty() && !exclude.empty()) {
    throw std::invalid_argument("collect[] and exclude[] exclude each other");
  }
  for (const std::vector<std::string>* list : {&std::as_const(collect), &exclude}) {
    for (const std::string& name : *list) {
      if (!contains(known, name)) throw std::invalid_argument("unknown collector: " + name);
    }
  }
  for (const std::string& name : collect) {
    if (!contains(enabled, name)) throw std::invalid_argument("disabled collector: " + name);
  }
  if (exclude.empty()) return collect.empty() ? CollectorSet() : CollectorSet::only(std::move(collect));
  for (const std::string& name : enabled) {
    if (!contains(exclude, name)) collect.push_back(name);
  }
  return CollectorSet::only(std::move(collect));
}

Nanoseconds scrape_deadline(std::string_view timeout_header, Nanoseconds limit) {
  const double seconds = number_of<double>(timeout_header).value_or(0);
  if (!(seconds > 0)) return limit;
  const double usable = std::max(seconds * 0.9, seconds - 0.5);
  const double bounded = std::min(usable, std::chrono::duration<double>(limit).count());
  return std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(bounded));
}

MetricsHandler::MetricsHandler(const MetricsHandlerOptions& options, ScrapeSource& source,
                               const RequestMetrics& requests)
    : options_(options), source_(source), requests_(requests), in_flight_(options.max_requests) {
  for (const CollectorDescription& collector : describe_collectors()) {
    if (!collector.always_on) known_.emplace_back(collector.name);
  }
}

InFlight::Slot MetricsHandler::enter(const HttpRequest& request, HttpResponse& response) {
  InFlight::Slot slot = in_flight_.enter(request.client(), request.gone());
  // Some slots may belong to clients whose disconnect was not noticed yet, and new ones may take slots meanwhile. If no
  // request got a slot in between, the holders are really connected.
  bool others_came = true;
  for (int attempt = 1; !slot && others_came && attempt < kAttempts; ++attempt) {
    const std::uint64_t entries = in_flight_.entries();
    request.notice_resets();
    slot = in_flight_.enter(request.client(), request.gone());
    others_came = in_flight_.entries() != entries;
  }
  if (!slot) {
    response.fail(503, "too many scrapes at once (--web.max-requests)");
    response.headers.emplace_back("Retry-After", "1");
  }
  return slot;
}

std::shared_ptr<const ScrapeResult> MetricsHandler::scrape(ScrapeRequest wanted, const InFlight::Slot& slot,
                                                           HttpResponse& response) {
  wanted.gone = slot.when_lost();
  std::shared_ptr<const ScrapeResult> result = source_.scrape(wanted);
  if (!result) {
    response.fail(503, wanted.gone.stop_requested() ? "too many scrapes at once (--web.max-requests)"
                                                    : "other scrapes took all the time that this one had");
    response.headers.emplace_back("Retry-After", "1");
  }
  return result;
}

std::shared_ptr<const ScrapeResult> MetricsHandler::scrape_for(const HttpRequest& request, HttpResponse& response,
                                                               CollectorSet collectors) {
  const InFlight::Slot slot = enter(request, response);
  if (!slot) return nullptr;
  // Several clients share such a page.
  return scrape({.collectors = std::move(collectors), .deadline = options_.timeout, .client = "page"}, slot, response);
}

void MetricsHandler::handle(const HttpRequest& request, HttpResponse& response) {
  const InFlight::Slot slot = enter(request, response);
  if (!slot) return;
  ScrapeRequest wanted;
  try {
    // Most requests choose nothing: no need to describe all collectors then.
    if (!request.query().empty())
      wanted.collectors = chosen_collectors(request.query(), known_, source_.enabled_collectors());
  } catch (const std::invalid_argument& error) {
    response.fail(400, error.what());
    return;
  }
  wanted.deadline = scrape_deadline(request.header("X-Prometheus-Scrape-Timeout-Seconds"), options_.timeout);
  wanted.since = request.arrival().time;
  wanted.client = identity_of(request);
  const auto result = scrape(std::move(wanted), slot, response);
  if (!result) return;
  const FormatChoice choice = choose_format(request.list_header("Accept"));
  const bool compressed = accepts_gzip(request.list_header("Accept-Encoding"));
  response.content_type = choice.content_type;
  response.headers.emplace_back("Vary", "Accept, Accept-Encoding");
  if (compressed) response.headers.emplace_back("Content-Encoding", "gzip");
  const SharedPages::Form form{choice.content_type, compressed};
  // Nobody is left to share the page with.
  const bool alone = in_flight_.running() == 1 && !request.arrival().others_wait;
  response.shared_body = pages_.find(result, form);
  if (!response.shared_body) {
    render(*result, choice.format, compressed, response.body);
    // A page that differs by client has no other owner, and nobody could find its bytes.
    if (!alone && result.use_count() > 1) {
      response.shared_body = std::make_shared<const std::string>(std::move(response.body));
      pages_.keep(result, form, response.shared_body);
    }
  }
  if (alone) pages_.clear();
}

void MetricsHandler::with_own(const ScrapeResult& result, const std::function<void(const PageView&)>& use) {
  SampleList own;
  add_build_info(own);
  if (options_.more) options_.more(own);
  if (options_.exporter_metrics) {
    requests_.add_to(own);
    process_.add_to(own);
  }
  std::vector<const SampleList*> lists(result.lists().begin(), result.lists().end());
  lists.push_back(&own);
  use(PageView(lists));
}

bool MetricsHandler::read(std::stop_token gone, const std::function<void(const PageView&)>& use) {
  const auto result = source_.scrape({{}, options_.timeout, std::move(gone)});
  if (result) with_own(*result, use);
  return result != nullptr;
}

void MetricsHandler::render(const ScrapeResult& result, Format format, bool compressed, std::string& out) {
  std::string text;
  with_own(result, [&](const PageView& page) {
    if (format == Format::openmetrics) {
      write_openmetrics(page, text);
    } else {
      write_prometheus_text(page, text);
    }
  });
  if (!compressed) {
    out = std::move(text);
    return;
  }
  std::unique_ptr<Gzip> gzip;
  {
    const std::lock_guard lock(mutex_);
    gzip = std::move(gzip_);
  }
  if (!gzip) gzip = std::make_unique<Gzip>();
  gzip->compress(text, out);
  const std::lock_guard lock(mutex_);
  gzip_ = std::move(gzip);
}

}  // namespace igpu::exporter
