// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/types.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "platform/sockets.h"

namespace igpu::exporter {

// One connection's bytes, plain or through TLS. Never blocks. With TLS, a client that sends many records without an
// answer in between loses its connection.
class Stream {
 public:
  enum class Wants { nothing, to_read, to_write, to_end };  // to_end: close the connection
  struct Result {
    std::size_t bytes = 0;
    Wants wants = Wants::nothing;  // if bytes is 0: what the socket must be ready for before the next try
    bool end = false;              // the client has closed its sending half; it may still read
  };

  virtual ~Stream() = default;
  int descriptor() const { return socket_.get(); }

  virtual Result handshake() { return {}; }  // call first, once bytes have arrived
  virtual Result read(std::span<char> into) = 0;
  virtual bool pending() const { return false; }  // decrypted bytes are buffered that the poller does not report
  // One or two pieces; may write fewer bytes than given.
  virtual Result write(std::string_view first, std::string_view second) = 0;
  virtual void finish() = 0;  // signals the end to the client
  // Whether the client sent plain HTTP to a TLS port; valid after a failed handshake.
  virtual bool spoke_plain_http() const { return false; }

 protected:
  explicit Stream(UniqueSocket socket) : socket_(std::move(socket)) {}
  UniqueSocket socket_;
};

std::unique_ptr<Stream> plain_stream(UniqueSocket socket);
std::unique_ptr<Stream> tls_stream(UniqueSocket socket, std::shared_ptr<SSL_CTX> context);

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
