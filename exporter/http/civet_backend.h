// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/front.h"
#include "http/message.h"
#include "igpu/log.h"

namespace igpu::exporter {

// CivetWeb, and nothing else of the program knows it. It gets whole request heads, parses them and calls the handler on
// its worker threads; it has no address that anybody could connect to, and it never writes: the answer goes to whoever
// submitted the head.
class CivetBackend final : public Front::Backend {
 public:
  using Deliver = std::function<void(Front::Ticket, Answer)>;

  // queue: requests that may wait for a worker; the caller submits no more. Throws std::runtime_error with one clear
  // line. handler and log must outlive it.
  CivetBackend(unsigned workers, unsigned queue, HttpHandler& handler, Log& log);
  ~CivetBackend() override;
  CivetBackend(const CivetBackend&) = delete;
  CivetBackend& operator=(const CivetBackend&) = delete;

  // Before the first submit. notice_resets: HttpRequest::notice_resets().
  void deliver_to(Deliver deliver, std::function<void()> notice_resets);

  bool submit(Front::Ticket ticket, std::string_view head, const std::string& client) override;
  void cancel(Front::Ticket ticket) override;
  Answer refusal(int status) override;
  void recycle(std::unique_ptr<HttpResponse> response) override;

  // Waits for handlers that run. Idempotent; nothing may be submitted any more.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace igpu::exporter
