// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "http/front.h"
#include "http/message.h"
#include "http/response_pool.h"
#include "http/worker_pool.h"
#include "igpu/log.h"

namespace igpu::exporter {

// The front's backend: parses each request, calls the handler, and turns its response into an answer; on the front's
// thread or on a worker.
class Responder final : public Front::Backend {
 public:
  using Deliver = std::function<void(Front::Ticket, Answer)>;

  // workers: the most threads that handle requests. Throws std::system_error if the first cannot be started. handler
  // and log must outlive the responder.
  Responder(unsigned workers, HttpHandler& handler, Log& log);

  // Before the first request. notice_resets: HttpRequest::notice_resets().
  void deliver_to(Deliver deliver, std::function<void(Event)> publish, std::function<void()> notice_resets);

  Answer answer(const Front::Request& request) noexcept override;
  void submit(Front::Request request) override { workers_.submit(std::move(request)); }
  void ask_for_event() override;
  bool withdraw(Front::Ticket ticket) override { return workers_.withdraw(ticket); }
  Answer refusal(int status) override;
  void recycle(std::unique_ptr<HttpResponse> response) override { responses_.give_back(std::move(response)); }

  // Waits for running handlers. Idempotent; do not submit anything after it.
  void stop() { workers_.stop(); }

 private:
  void serve(const Front::Request& request, const std::function<void()>& free) noexcept;
  Event next_event() noexcept;
  Answer answer_to(const Front::Request& submitted);

  HttpHandler& handler_;
  Log& log_;
  Deliver deliver_;
  std::function<void(Event)> publish_;
  std::function<void()> notice_resets_;
  ResponsePool responses_;
  WorkerPool workers_;  // last: its threads use all of the above
};

}  // namespace igpu::exporter
