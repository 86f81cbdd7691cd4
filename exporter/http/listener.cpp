// SPDX-License-Identifier: Apache-2.0
#include "http/listener.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "http/responder.h"
#include "http/sockets.h"

namespace igpu::exporter {
namespace {

// What the program itself keeps open (perf events of several GPUs, files of sysfs), and what a walk over /proc opens.
constexpr std::size_t kOwnDescriptors = 256;

constexpr std::chrono::milliseconds kResetsNoticed(100);

// Clients must not take the descriptors that a scrape needs. One that is being answered needs two.
void keep_within_limits(FrontOptions& front) {
  front.exchanges = std::min(front.exchanges, front.connections);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const std::size_t open_files = limit.rlim_cur;
  const std::size_t left = std::max<std::size_t>(open_files > kOwnDescriptors ? open_files - kOwnDescriptors : 0, 32);
  front.exchanges = std::min(front.exchanges, left / 2);
  front.connections = std::min(front.connections, left - front.exchanges);
}

}  // namespace

struct Listener::State {
  State(const ListenerOptions& options, HttpHandler& handler, Log& log) : responder(options.workers, handler, log) {}

  void remove_socket_files() {
    for (const std::string& path : unix_paths) (void)::unlink(path.c_str());
    unix_paths.clear();
  }

  std::vector<std::string> bound;
  std::vector<std::string> unix_paths;  // of our own making: an inherited one stays
  Responder responder;
  std::unique_ptr<Front> front;
};

Listener::Listener(ListenerOptions options, HttpHandler& handler, Log& log, std::vector<Descriptor> inherited) {
  std::vector<Descriptor> sockets = std::move(inherited);
  std::vector<std::string> unix_paths;
  for (const ListenAddress& address : options.addresses) {
    try {
      sockets.push_back(listen_on(address, options.addresses));
    } catch (...) {
      for (const std::string& path : unix_paths) (void)::unlink(path.c_str());
      throw;
    }
    if (address.kind == ListenAddress::Kind::unix_socket) unix_paths.push_back(address.path);
  }
  for (const Descriptor& socket : sockets) {
    const int flags = ::fcntl(socket.get(), F_GETFL);
    (void)::fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK);  // what is inherited may not have it
  }

  keep_within_limits(options.front);
  state_ = std::make_unique<State>(options, handler, log);
  state_->unix_paths = std::move(unix_paths);
  for (const Descriptor& socket : sockets) state_->bound.push_back(local_address(socket.get()));
  Responder& responder = state_->responder;
  std::unique_ptr<Front>& front = state_->front;
  responder.deliver_to([&front](Front::Ticket ticket, Answer answer) { front->answer(ticket, std::move(answer)); },
                       [&front] {  // twice: what was ready when it was asked first has had its turn then
                         for (int i = 0; i < 2; ++i) (void)front->responds(kResetsNoticed);
                       });
  front = std::make_unique<Front>(std::move(sockets), options.front, std::move(options.tls), responder, log);
  front->start();
}

Listener::~Listener() { stop(std::chrono::milliseconds(0)); }

const std::vector<std::string>& Listener::bound() const { return state_->bound; }

bool Listener::responds(std::chrono::milliseconds at_most) { return state_->front->responds(at_most); }

void Listener::stop(std::chrono::milliseconds grace) {
  state_->remove_socket_files();  // a client that comes now finds nobody instead of a closed door
  state_->front->stop(grace);
  state_->responder.stop();
}

}  // namespace igpu::exporter
