// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "igpu/log.h"
#include "platform/sockets.h"
#include "platform/thread.h"
#include "server/http/message.h"

namespace igpu::exporter {

// Serves all connections in one loop that never blocks on any of them: accepts, reads request heads, sends answers.
// TLS handshakes, which are slow, run on separate threads. Only complete request heads are given to the responder, so
// that a slow, silent or malicious client costs a few hundred bytes and a table entry, never a thread.
//
// For a moment, requests are answered on the loop's own thread: handing one to another thread and the answer back costs
// about an eighth of a scrape, and more than a page that others have asked for as well. What is left after that moment
// is submitted to the responder. If an answer is not ready in a moment, a second thread goes on with the loop.

class Responder;

struct FrontOptions {
  std::size_t connections = 1024;      // more: one is evicted, see Places
  std::size_t exchanges = 512;         // requests that are not answered yet; more: 503
  unsigned handshakes = 1;             // threads for TLS handshakes
  std::size_t head_size = 16U << 10;   // larger: 431
  std::size_t headers = 64;            // more (CivetWeb would not parse them): 431
  std::size_t target_size = 8U << 10;  // longer: 414
  std::size_t body_size = 16U << 10;   // a larger Content-Length: 413. Smaller bodies are read and discarded
  std::size_t unsent = 64U << 20;      // bytes of unsent answers in memory; more: the slowest reader is closed
  std::chrono::milliseconds head_timeout{5'000};    // for the handshake and a complete head, from its first byte
  std::chrono::milliseconds write_timeout{10'000};  // for a client that reads nothing
  std::chrono::milliseconds idle_timeout{300'000};  // between two requests on a connection
};

class Front {
 public:
  using Ticket = std::uint64_t;

  // A complete request head.
  struct Request {
    Ticket ticket = 0;  // unique among the requests that are not answered yet
    std::string head;
    std::string client;  // HttpRequest::client()
    Arrival arrival;
    std::stop_token gone;  // HttpRequest::gone()
  };

  // TLS for the next connection. A connection that was accepted under a different policy closes after its next answer:
  // the current policy might reject it.
  struct Tls {
    std::shared_ptr<SSL_CTX> context;  // null: reject connections
    std::uint64_t policy = 0;          // differs between rules for which clients are accepted
  };
  using TlsContext = std::function<Tls()>;  // empty function: plain HTTP

  virtual ~Front() = default;  // calls stop()

  virtual void start() = 0;

  // Call once for each submitted ticket that was not withdrawn; a client that has disconnected is not an error.
  virtual void answer(Ticket ticket, Answer answer) = 0;

  // The answer to ask_for_event().
  virtual void publish(Event event) = 0;

  // Whether the loop completes an iteration within that time.
  virtual bool responds(std::chrono::milliseconds at_most) = 0;

  // Accepts no more connections; waits up to `grace` for requests in progress. Idempotent.
  virtual void stop(std::chrono::milliseconds grace) = 0;
};

// responder and log must outlive the front. Throws std::system_error.
std::unique_ptr<Front> make_front(std::vector<UniqueSocket> listening, const FrontOptions& options,
                                  Front::TlsContext tls, Responder& responder, Log& log);

// Lets two threads take turns at a task that must not stand still: one holds it, the other is on standby. The holder
// may leave the task for work that is usually short; if it is not back in time, the thread on standby takes the task
// over. While the work is short, no thread wakes another.
class Turns {
 public:
  // Waits until the calling thread holds the task. False: the task has ended.
  bool wait() {
    std::unique_lock lock(mutex_);
    if (!begun_) return begun_ = true;
    standby_ = true;
    while (!ended_) {
      lock.unlock();
      alarm_.wait();
      lock.lock();
      if (ended_ || !left_) continue;  // not left: the holder came back meanwhile
      left_ = standby_ = false;
      return true;
    }
    return false;
  }

  // The holder leaves the task. False: it must stay, because the other thread is not on standby.
  bool leave(std::chrono::milliseconds for_at_most) {
    {
      const std::lock_guard lock(mutex_);
      if (!standby_) return false;
      left_ = true;
    }
    alarm_.set(for_at_most);
    return true;
  }

  // The thread that left wants to go on. False: the other thread holds the task now.
  bool come_back() {
    {
      const std::lock_guard lock(mutex_);
      if (!left_) return false;
      left_ = false;
    }
    alarm_.cancel();
    return true;
  }

  // By the holder: every wait() ends.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    alarm_.set(std::chrono::milliseconds(1));  // if the other thread is on standby, it need not be waiting yet
  }

 private:
  Alarm alarm_;
  std::mutex mutex_;  // guards what follows
  bool begun_ = false;
  bool standby_ = true;  // the other thread waits, or will soon
  bool left_ = false;    // the holder may not have come back yet
  bool ended_ = false;
};

}  // namespace igpu::exporter
