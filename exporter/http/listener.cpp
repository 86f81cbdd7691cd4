// SPDX-License-Identifier: Apache-2.0
#include "http/listener.h"

#include <algorithm>
#include <utility>

#include "http/listen.h"
#include "http/responder.h"
#include "platform/own_process.h"

namespace igpu::exporter {
namespace {

// Descriptors of the program itself (perf events of several GPUs, sysfs files) and of a scan of /proc.
constexpr std::size_t kOwnDescriptors = 256;

constexpr std::chrono::milliseconds kResetsNoticed(100);

// Clients must not take the descriptors that a scrape needs.
void keep_within_limits(FrontOptions& front) {
  if (const std::optional<std::uint64_t> limit = open_files_limit()) {
    const std::size_t left = std::max<std::size_t>(*limit > kOwnDescriptors ? *limit - kOwnDescriptors : 0, 32);
    front.connections = std::min(front.connections, left);
  }
  front.exchanges = std::min(front.exchanges, front.connections);
}

std::vector<std::string> addresses_of(const std::vector<UniqueSocket>& sockets) {
  std::vector<std::string> addresses;
  addresses.reserve(sockets.size());
  for (const UniqueSocket& socket : sockets) addresses.push_back(local_address(socket.get()));
  return addresses;
}

}  // namespace

struct Listener::State {
  State(const ListenerOptions& options, std::vector<std::string> addresses, HttpHandler& handler, Log& log)
      : bound(std::move(addresses)), responder(options.workers, handler, log) {}

  const std::vector<std::string> bound;
  Responder responder;
  std::unique_ptr<Front> front;
};

Listener::Listener(ListenerOptions options, std::vector<UniqueSocket> sockets, HttpHandler& handler, Log& log) {
  keep_within_limits(options.front);
  state_ = std::make_unique<State>(options, addresses_of(sockets), handler, log);
  std::unique_ptr<Front>& front = state_->front;
  state_->responder.deliver_to(
      [&front](Front::Ticket ticket, Answer answer) { front->answer(ticket, std::move(answer)); },
      [&front](Event event) { front->publish(std::move(event)); },
      [&front] {  // twice: after the second iteration, everything that was ready at the call has been handled
        for (int i = 0; i < 2; ++i) (void)front->responds(kResetsNoticed);
      });
  front = std::make_unique<Front>(std::move(sockets), options.front, std::move(options.tls), state_->responder, log);
  front->start();
}

Listener::~Listener() { stop(std::chrono::milliseconds(0)); }

const std::vector<std::string>& Listener::bound() const { return state_->bound; }

bool Listener::responds(std::chrono::milliseconds at_most) { return state_->front->responds(at_most); }

void Listener::stop(std::chrono::milliseconds grace) {
  state_->front->stop(grace);
  state_->responder.stop();
}

}  // namespace igpu::exporter
