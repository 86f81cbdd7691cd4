// SPDX-License-Identifier: Apache-2.0
#include "server/http/listener.h"

#include <algorithm>
#include <utility>

#include "platform/own_process.h"
#include "server/http/listen.h"

namespace igpu::exporter {
namespace {

// Descriptors of the program itself (perf events of several GPUs, sysfs files) and of a scan of /proc.
constexpr std::size_t kOwnDescriptors = 256;

// Clients must not take the descriptors that a scrape needs.
FrontOptions within_limits(FrontOptions front) {
  if (const std::optional<std::uint64_t> limit = open_files_limit()) {
    const std::size_t left = std::max<std::size_t>(*limit > kOwnDescriptors ? *limit - kOwnDescriptors : 0, 32);
    front.connections = std::min(front.connections, left);
  }
  front.exchanges = std::min(front.exchanges, front.connections);
  return front;
}

std::vector<std::string> addresses_of(const std::vector<UniqueSocket>& sockets) {
  std::vector<std::string> addresses;
  addresses.reserve(sockets.size());
  for (const UniqueSocket& socket : sockets) addresses.push_back(local_address(socket.get()));
  return addresses;
}

}  // namespace

Listener::Listener(ListenerOptions options, std::vector<UniqueSocket> sockets, HttpHandler& handler, Log& log)
    : bound_(addresses_of(sockets)),
      responder_(options.workers, handler, log),
      front_(make_front(std::move(sockets), within_limits(options.front), std::move(options.tls), responder_, log)) {
  responder_.deliver_to(*front_);
  front_->start();
}

void Listener::stop(std::chrono::milliseconds grace) {
  front_->stop(grace);
  responder_.stop();
}

}  // namespace igpu::exporter
