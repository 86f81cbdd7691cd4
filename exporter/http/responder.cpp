// SPDX-License-Identifier: Apache-2.0
#include "http/responder.h"

#include <exception>
#include <utility>

#include "http/request.h"
#include "http/response_head.h"

namespace igpu::exporter {
namespace {

constexpr Front::Ticket kEvent = 0;  // no connection has this number

}  // namespace

Responder::Responder(unsigned workers, HttpHandler& handler, Log& log)
    : handler_(handler),
      log_(log),
      workers_(workers, [this](const Front::Request& request, const auto& free) { serve(request, free); }) {}

void Responder::deliver_to(Deliver deliver, std::function<void(Event)> publish, std::function<void()> notice_resets) {
  deliver_ = std::move(deliver);
  publish_ = std::move(publish);
  notice_resets_ = std::move(notice_resets);
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
    return publish_(std::move(event));
  }
  Answer made = answer(request);
  free();
  try {
    deliver_(request.ticket, std::move(made));
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
  answer.response = responses_.empty_response();
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
  answer.response = responses_.empty_response();
  answer.response->fail(status, status_text(status));
  if (status == 405) answer.response->headers.emplace_back("Allow", "GET, HEAD");
  handler_.answered(status);
  answer.head = response_head(*answer.response);
  answer.close = true;
  return answer;
}

}  // namespace igpu::exporter
