// SPDX-License-Identifier: Apache-2.0
#include "server/http/responder.h"

#include <civetweb.h>

#include <array>
#include <chrono>
#include <ctime>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "server/http/request.h"
#include "text/formatted.h"
#include "text/utc.h"

namespace igpu::exporter {
namespace {

constexpr Front::Ticket kEvent = 0;             // no connection has this number
constexpr std::size_t kKept = 4;                // spare responses; more only while that many requests overlap
constexpr std::size_t kLargestKept = 8U << 20;  // an unusually large page does not stay in memory
constexpr std::chrono::milliseconds kResetsNoticed(100);

// "Not Found" for 404.
std::string_view status_text(int status) { return mg_get_response_code_text(nullptr, status); }

// "Sun, 06 Nov 1994 08:49:37 GMT". Not strftime, which uses the names of the locale.
std::string http_date() {
  constexpr std::array<const char*, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::tm utc = utc_of(std::time(nullptr));
  return formatted("%s, %02d %s %04d %02d:%02d:%02d GMT", kDays[static_cast<std::size_t>(utc.tm_wday)], utc.tm_mday,
                   kMonths[static_cast<std::size_t>(utc.tm_mon)], utc.tm_year + 1900, utc.tm_hour, utc.tm_min,
                   utc.tm_sec);
}

// Status line and headers, without "Connection" and the empty line, which the front adds.
std::string response_head(const HttpResponse& response) {
  std::string head;
  head.reserve(512);
  head.append("HTTP/1.1 ").append(std::to_string(response.status)).append(" ").append(status_text(response.status));
  head.append("\r\nDate: ").append(http_date());
  head.append("\r\nContent-Type: ").append(response.content_type).append("\r\n");
  if (!response.subscription)
    head.append("Content-Length: ").append(std::to_string(response.content().size())).append("\r\n");
  for (const auto& [name, value] : response.headers) head.append(name).append(": ").append(value).append("\r\n");
  return head.append("X-Content-Type-Options: nosniff\r\n");
}

}  // namespace

Responder::Responder(unsigned workers, HttpHandler& handler, Log& log)
    : handler_(handler),
      log_(log),
      workers_(workers, [this](const Front::Request& request, const auto& free) { serve(request, free); }) {}

void Responder::deliver_to(Front& front) {
  front_ = &front;
  notice_resets_ = [&front] {  // twice: after the second iteration, everything that was ready at the call is handled
    for (int i = 0; i < 2; ++i) (void)front.responds(kResetsNoticed);
  };
}

std::unique_ptr<HttpResponse> Responder::empty_response() {
  const std::lock_guard lock(mutex_);
  if (spare_.empty()) return std::make_unique<HttpResponse>();
  std::unique_ptr<HttpResponse> response = std::move(spare_.back());
  spare_.pop_back();
  return response;
}

void Responder::recycle(std::unique_ptr<HttpResponse> response) {
  if (response->body.capacity() > kLargestKept) return;
  response->clear();
  const std::lock_guard lock(mutex_);
  if (spare_.size() < kKept) spare_.push_back(std::move(response));
}

void Responder::ask_for_event() { workers_.submit({kEvent, {}, {}, {}, {}}); }

Answer Responder::answer(const Front::Request& request) noexcept {
  Answer answer;
  answer.close = true;
  try {
    if (!request.gone.stop_requested()) answer = answer_to(request);
  } catch (...) {  // out of memory: closed without an answer
  }
  return answer;
}

void Responder::serve(const Front::Request& request, const std::function<void()>& free) noexcept {
  if (request.ticket == kEvent) {
    Event event = next_event();
    free();
    return front_->publish(std::move(event));
  }
  Answer made = answer(request);
  free();
  try {
    front_->answer(request.ticket, std::move(made));
  } catch (...) {  // out of memory: the client waits until the front stops
  }
}

Event Responder::next_event() noexcept {
  try {
    return handler_.next_event();
  } catch (const std::exception& error) {
    log_.write(LogLevel::error, "the event of the streams failed", {{"error", error.what()}});
    return {};
  }
}

Answer Responder::answer_to(const Front::Request& submitted) {
  const ParsedRequest request(submitted.head, submitted.client, submitted.arrival, submitted.gone, notice_resets_);
  if (request.error() != 0) return refusal(request.error());
  Answer answer;
  answer.response = empty_response();
  try {
    handler_.handle(request, *answer.response);
  } catch (const std::exception& error) {
    log_.write(LogLevel::error, "a request failed", {{"path", request.path()}, {"error", error.what()}});
    answer.response->fail(500, "internal error");
  }
  // Counts before the answer is sent, so that a client that has its answer finds it counted. Undeliverable answers do
  // not count.
  if (!submitted.gone.stop_requested()) handler_.answered(answer.response->status);
  answer.head = response_head(*answer.response);
  answer.with_body = request.method() != "HEAD";
  return answer;
}

Answer Responder::refusal(int status) {
  Answer answer;
  answer.response = empty_response();
  answer.response->fail(status, status_text(status));
  if (status == 405) answer.response->headers.emplace_back("Allow", "GET, HEAD");
  handler_.answered(status);
  answer.head = response_head(*answer.response);
  answer.close = true;
  return answer;
}

}  // namespace igpu::exporter
