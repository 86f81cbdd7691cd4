// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "igpu/log.h"
#include "platform/sockets.h"
#include "server/http/addresses.h"
#include "server/http/front.h"
#include "server/http/message.h"

namespace igpu::exporter {

// Threads that run jobs from one FIFO queue. The thread that became idle last is woken first, so that a few threads do
// the work with warm caches while the others are a reserve. A thread is started by the first job that finds all others
// busy, so that an exporter with one scraper has one.
class WorkerPool {
 public:
  using Ticket = Front::Ticket;
  using Job = Front::Request;
  // Must not throw. It calls `free` when only the delivery of its answer is left, so that a client that has its answer
  // finds this thread for its next request.
  using Run = std::function<void(const Job& job, const std::function<void()>& free)>;

  // Starts one thread; throws std::system_error if it cannot.
  WorkerPool(unsigned most_threads, Run run);
  ~WorkerPool();

  // By one thread at a time. If another is needed and cannot be started, the job waits for one of those that run.
  void submit(Job job);
  // True: the job was still queued and will not run.
  bool withdraw(Ticket ticket);

  // Drops queued jobs and waits for running ones. Idempotent; do not submit anything after it.
  void stop();

 private:
  using Queue = std::list<Job>;
  struct Worker {
    std::condition_variable woken;
    bool idle = false;  // in idle_
  };

  void start_worker(bool idle);
  void work(Worker& self);
  void become_idle(Worker& worker);
  Worker* call_idle_worker();

  const unsigned most_threads_;
  const Run run_;
  std::mutex mutex_;
  Queue queue_;
  std::unordered_map<Ticket, Queue::iterator> queued_;
  std::vector<Worker*> idle_;  // the last one became idle last
  bool stopping_ = false;
  std::list<Worker> workers_;         // only start_worker() uses the list; lives as long as the threads
  std::vector<std::thread> threads_;  // only start_worker() and stop() use it
};

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

// Whether the host can bind IPv6 sockets.
bool host_has_ipv6();

// Returns a non-blocking listening socket. ":PORT" accepts IPv6 and IPv4 if the host has both, and so does "[::]:PORT",
// as in other exporters, unless another address in all covers IPv4. A socket file left by an earlier process is taken
// over. Throws std::runtime_error with one clear line.
UniqueSocket listen_on(const ListenAddress& address, const std::vector<ListenAddress>& all);

// "127.0.0.1:9100", "[::]:9100", "unix:/run/x"
std::string local_address(int descriptor);

// Those of these addresses that other machines can reach: all except loopback addresses and UNIX sockets.
std::vector<std::string> reachable_from_outside(const std::vector<std::string>& bound);

// The listening sockets. They are opened at the start, because the sandbox allows no new sockets later.
class ListeningSockets {
 public:
  // inherited: from socket activation. Throws std::runtime_error with one clear line (port in use).
  ListeningSockets(std::vector<UniqueSocket> inherited, const std::vector<ListenAddress>& addresses);
  ~ListeningSockets() { remove_files(); }
  ListeningSockets(const ListeningSockets&) = delete;
  ListeningSockets& operator=(const ListeningSockets&) = delete;

  std::vector<UniqueSocket> take_sockets() { return std::exchange(sockets_, {}); }  // call once; non-blocking sockets

  // Socket files stay when the program exits: the sandbox does not allow removing files. The next start takes them
  // over.
  void leave_files() { files_.clear(); }
  // Removes the socket files, so that a client that connects later finds no file instead of a socket that rejects it.
  void remove_files();

 private:
  std::vector<UniqueSocket> sockets_;
  std::vector<std::string> files_;  // only those that this program created, not inherited ones
};

struct ListenerOptions {
  unsigned workers = 48;  // requests answered concurrently, besides one on the front's own thread
  FrontOptions front;     // limits for clients; lowered if the limit of open files is low
  Front::TlsContext tls;  // empty: plain HTTP
};

// The HTTP server on listening sockets: the front, which keeps slow clients away from handlers, and the responder
// behind it. Serves from construction until stop().
class Listener {
 public:
  // sockets: non-blocking. Throws std::system_error if a thread cannot be started. handler and log must outlive the
  // listener.
  Listener(ListenerOptions options, std::vector<UniqueSocket> sockets, HttpHandler& handler, Log& log);
  ~Listener() { stop(std::chrono::milliseconds(0)); }

  // The addresses it listens on, with the port selected for port 0: "[::]:10068", "127.0.0.1:41234", "unix:/run/x".
  const std::vector<std::string>& bound() const { return bound_; }

  // Whether connections are served, for the watchdog.
  bool responds(std::chrono::milliseconds at_most) { return front_->responds(at_most); }

  // Rejects new connections, waits up to `grace` for answers in progress, and stops. Idempotent.
  void stop(std::chrono::milliseconds grace);

 private:
  const std::vector<std::string> bound_;
  Responder responder_;
  const std::unique_ptr<Front> front_;
};

}  // namespace igpu::exporter
