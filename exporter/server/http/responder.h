// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include "igpu/log.h"
#include "server/http/front.h"
#include "server/http/message.h"
#include "server/http/worker_pool.h"

namespace igpu::exporter {

// Answers the front's requests: parses each, calls the handler, and turns its response into an answer; on the front's
// thread or on a worker. All but answer() and stop() are called by one thread at a time.
class Responder {
 public:
  // workers: the most threads that handle requests. Throws std::system_error if the first cannot be started. handler
  // and log must outlive the responder.
  Responder(unsigned workers, HttpHandler& handler, Log& log);

  // Before the first request. The front must live until stop().
  void deliver_to(Front& front);

  // Answers on the calling thread, for as long as it takes.
  Answer answer(const Front::Request& request) noexcept;
  // Does not block. Front::answer() follows, on any thread.
  void submit(Front::Request request) { workers_.submit(std::move(request)); }
  // A stream's next event is due: Front::publish() follows, on any thread; call it again after that. Does not block.
  void ask_for_event();
  // The client of a submitted request has disconnected. True: the request was still queued, and no answer follows. Does
  // not block.
  bool withdraw(Front::Ticket ticket) { return workers_.withdraw(ticket); }
  // The answer to a request that the front rejects itself.
  Answer refusal(int status);

  // Waits for running handlers. Idempotent; do not submit anything after it.
  void stop() { workers_.stop(); }

 private:
  void serve(const Front::Request& request, const std::function<void()>& free) noexcept;
  Event next_event() noexcept;
  Answer answer_to(const Front::Request& submitted);

  HttpHandler& handler_;
  Log& log_;
  Front* front_ = nullptr;
  std::function<void()> notice_resets_;  // HttpRequest::notice_resets()
  WorkerPool workers_;                   // last: its threads use all of the above
};

}  // namespace igpu::exporter
