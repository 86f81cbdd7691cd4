// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "server/http/stream.h"

namespace igpu::exporter {

// TLS handshakes on their own threads: a handshake with a 4,096-bit RSA key takes milliseconds, and connected clients
// do not wait for it. Addresses take turns, so that a flood from one address delays each handshake of another by at
// most one.
class Handshakes {
 public:
  using Ticket = std::uint64_t;
  struct Step {
    Ticket ticket = 0;
    std::unique_ptr<Stream> stream;
    Stream::Result result;
  };

  // finished: called on any thread when finished steps are available.
  Handshakes(unsigned threads, std::function<void()> finished);
  ~Handshakes();

  // Continues a handshake. client: HttpRequest::client().
  void submit(Ticket ticket, const std::string& client, std::unique_ptr<Stream> stream);
  // Closes the connection, unless a thread is working on its handshake: that step is still reported.
  void cancel(Ticket ticket);
  // Replaces the content of steps by the finished steps.
  void take_finished(std::vector<Step>& steps);

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    Ticket ticket;
    std::unique_ptr<Stream> stream;
    Clock::time_point since;
  };
  struct Client {
    std::string name;
    std::list<Waiting> waiting;  // the oldest first; never empty
  };
  struct Place {
    std::list<Client>::iterator client;
    std::list<Waiting>::iterator waiting;
  };

  void run();
  void end();
  Step next();
  std::unique_ptr<Stream> remove(std::unordered_map<Ticket, Place>::iterator place);

  const std::function<void()> finished_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::list<Client> turns_;  // the first is next
  std::unordered_map<std::string, std::list<Client>::iterator> clients_;
  std::unordered_map<Ticket, Place> places_;
  std::vector<Step> done_;
  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace igpu::exporter
