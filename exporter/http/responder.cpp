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
      workers_(workers, [this](const WorkerPool::Job& job, const auto& free) { serve(job, free); }) {}

void Responder::deliver_to(Deliver deliver, std::function<void(Event)> publish, std::function<void()> notice_resets) {
  deliver_ = std::move(deliver);
  publish_ = std::move(publish);
  notice_resets_ = std::move(notice_resets);
}

void Responder::submit(Front::Ticket ticket, std::string_view head, const std::string& client, std::stop_token gone) {
  workers_.submit({ticket, std::string(head), client, std::move(gone)});
}

void Responder::ask_for_event() { workers_.submit({kEvent, {}, {}, {}}); }

void Responder::serve(const WorkerPool::Job& job, const std::function<void()>& free) noexcept {
  if (job.ticket == kEvent) {
    Event event = next_event();
    free();
    return publish_(std::move(event));
  }
  Answer answer;
  answer.close = true;
  try {
    if (!job.gone.stop_requested()) answer = answer_to(job);
  } catch (...) {  // out of memory: closed without an answer
  }
  free();
  try {
    deliver_(job.ticket, std::move(answer));
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

Answer Responder::answer_to(const WorkerPool::Job& job) {
  const ParsedRequest request(job.head, job.client, job.gone, notice_resets_);
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
  if (!job.gone.stop_requested()) handler_.answered(answer.response->status);
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
