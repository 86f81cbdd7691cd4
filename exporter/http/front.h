// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "igpu/log.h"
#include "service/descriptor.h"

// All connections on one thread that never waits for any of them: accepting, reading request heads, sending answers;
// TLS handshakes, which take long, on threads beside it. Only a whole request head goes on to be answered, so that a
// client which is slow, silent or malicious costs a few hundred bytes and a place in a table, never a thread.
namespace igpu::exporter {

struct FrontOptions {
  std::size_t connections = 1024;      // more: one is evicted, see Places
  std::size_t exchanges = 512;         // requests handed on and not answered yet; more: 503
  unsigned handshakes = 1;             // threads for those of TLS
  std::size_t head_size = 16U << 10;   // larger: 431
  std::size_t headers = 64;            // more, which CivetWeb would not parse: 431
  std::size_t target_size = 8U << 10;  // longer: 414
  std::size_t body_size = 16U << 10;   // a larger body announced: 413. Smaller ones are read and thrown away
  std::size_t unsent = 64U << 20;      // bytes of answers that slow readers keep in memory; more: the slowest is closed
  std::chrono::milliseconds head_timeout{5'000};    // for TLS and a whole head, from its first byte
  std::chrono::milliseconds write_timeout{10'000};  // for a client that takes nothing
  std::chrono::milliseconds idle_timeout{300'000};  // between two requests on a connection
};

class Front {
 public:
  using Ticket = std::uint64_t;

  // What the front needs of the program.
  class Backend {
   public:
    virtual ~Backend() = default;
    // A whole request head, on the front's thread; must not wait. answer() follows, on any thread.
    // client, gone: those of the HttpRequest.
    virtual void submit(Ticket ticket, std::string_view head, const std::string& client, std::stop_token gone) = 0;
    // The client of a submitted request has gone. True: the request was still queued, and no answer() follows. On the
    // front's thread; must not wait.
    virtual bool withdraw(Ticket ticket) = 0;
    // What the front refuses by itself.
    virtual Answer refusal(int status) = 0;
    // Gives back what an answer was made of.
    virtual void recycle(std::unique_ptr<HttpResponse> response) = 0;
  };

  // TLS for the next connection. A connection that was accepted under another policy than the present one ends after
  // its next answer: it might not be accepted now.
  struct Tls {
    std::shared_ptr<SSL_CTX> context;  // null: no connection
    std::uint64_t policy = 0;          // differs between rules for which clients are accepted
  };
  using TlsContext = std::function<Tls()>;  // empty function: plain HTTP

  // backend and log must outlive the front. Throws std::system_error.
  Front(std::vector<Descriptor> listening, const FrontOptions& options, TlsContext tls, Backend& backend, Log& log);
  ~Front();
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  void start();

  // Once for each submitted ticket that was not withdrawn; a client that has gone in the meantime is no error.
  void answer(Ticket ticket, Answer answer);

  // Whether its thread completes a turn within that time.
  bool responds(std::chrono::milliseconds at_most);

  // No more connections; requests under way are answered if that takes no longer than `grace`. Idempotent.
  void stop(std::chrono::milliseconds grace);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace igpu::exporter
