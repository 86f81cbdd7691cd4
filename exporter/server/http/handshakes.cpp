// SPDX-License-Identifier: Apache-2.0
#include "server/http/handshakes.h"

#include <utility>

#include "platform/thread.h"

namespace igpu::exporter {
namespace {

// If an address starts more handshakes than can be handled, the clients of the newest are the most likely to be still
// connected; as long as none has waited for that long, the oldest is next.
constexpr std::chrono::milliseconds kOverload(500);

}  // namespace

Handshakes::Handshakes(unsigned threads, std::function<void()> finished) : finished_(std::move(finished)) {
  try {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  } catch (...) {
    end();
    throw;
  }
}

Handshakes::~Handshakes() { end(); }

void Handshakes::end() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Handshakes::submit(Ticket ticket, const std::string& client, std::unique_ptr<Stream> stream) {
  {
    const std::lock_guard lock(mutex_);
    const auto [known, first] = clients_.try_emplace(client);
    if (first) known->second = turns_.insert(turns_.end(), Client{client, {}});
    std::list<Waiting>& waiting = known->second->waiting;
    const auto place = waiting.insert(waiting.end(), Waiting{ticket, std::move(stream), Clock::now()});
    places_.try_emplace(ticket, Place{known->second, place});
  }
  changed_.notify_one();
}

void Handshakes::cancel(Ticket ticket) {
  std::unique_ptr<Stream> closed;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(ticket);
  if (place != places_.end()) closed = remove(place);
}

void Handshakes::take_finished(std::vector<Step>& steps) {
  steps.clear();
  const std::lock_guard lock(mutex_);
  steps.swap(done_);
}

void Handshakes::run() {
  name_thread("handshakes");
  block_broken_pipes();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !turns_.empty(); });
    if (stopping_) return;
    Step step = next();
    lock.unlock();
    step.result = step.stream->handshake();
    lock.lock();
    const bool first = done_.empty();
    done_.push_back(std::move(step));
    if (first) finished_();
  }
}

Handshakes::Step Handshakes::next() {
  const auto client = turns_.begin();
  const bool overload = Clock::now() - client->waiting.front().since > kOverload;
  const Ticket ticket = overload ? client->waiting.back().ticket : client->waiting.front().ticket;
  if (client->waiting.size() > 1) turns_.splice(turns_.end(), turns_, client);
  return {ticket, remove(places_.find(ticket)), {}};
}

std::unique_ptr<Stream> Handshakes::remove(std::unordered_map<Ticket, Place>::iterator place) {
  const auto [client, waiting] = place->second;
  places_.erase(place);
  std::unique_ptr<Stream> stream = std::move(waiting->stream);
  client->waiting.erase(waiting);
  if (client->waiting.empty()) {
    clients_.erase(client->name);
    turns_.erase(client);
  }
  return stream;
}

}  // namespace igpu::exporter
