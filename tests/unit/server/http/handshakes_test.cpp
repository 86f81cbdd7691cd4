// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "server/http/listener.h"
#include "server/http/stream.h"
#include "support/http_client.h"
#include "support/recording_log.h"
#include "support/test_listener.h"
#include "support/tls_peers.h"

using namespace igpu::exporter;
using igpu::UniqueFd;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

// Stays closed until the test opens it.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    reached_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool reached() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 60s, [this] { return reached_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  bool open_ = false;
};

class FakeStream final : public Stream {
 public:
  explicit FakeStream(Gate* gate = nullptr, bool* closed = nullptr)
      : Stream(UniqueFd()), gate_(gate), closed_(closed) {}
  ~FakeStream() override {
    if (closed_ != nullptr) *closed_ = true;
  }
  Result handshake() override {
    if (gate_ != nullptr) gate_->pass();
    return {0, Wants::to_read};
  }
  Result read(std::span<char>) override { return {}; }
  Result write(std::string_view, std::string_view) override { return {}; }
  void finish() override {}

 private:
  Gate* const gate_;
  bool* const closed_;
};

// The steps of one thread, in the order in which they were done.
struct Steps {
  std::mutex mutex;
  std::condition_variable changed;
  bool more = false;
  Handshakes handshakes{1, [this] {
                          const std::lock_guard lock(mutex);
                          more = true;
                          changed.notify_all();
                        }};

  std::vector<Handshakes::Ticket> wait_for(std::size_t number) {
    std::vector<Handshakes::Ticket> tickets;
    std::vector<Handshakes::Step> steps;
    while (tickets.size() < number) {
      {
        std::unique_lock lock(mutex);
        if (!changed.wait_for(lock, 60s, [this] { return more; })) return tickets;
        more = false;
      }
      handshakes.take_finished(steps);
      for (const Handshakes::Step& step : steps) {
        CHECK(step.stream != nullptr);
        CHECK(step.result.wants == Stream::Wants::to_read);
        tickets.push_back(step.ticket);
      }
    }
    return tickets;
  }
};

class Hello final : public HttpHandler {
 public:
  void handle(const HttpRequest&, HttpResponse& response) override { response.body = "hello\n"; }
  void answered(int) override {}
};

// A TLS client that asks on one connection.
class Client {
 public:
  explicit Client(std::uint16_t port) {
    REQUIRE(BIO_set_conn_hostname(bio_.get(), ("127.0.0.1:" + std::to_string(port)).c_str()) == 1);
  }
  // The status of the answer; 0: none.
  int ask() {
    constexpr std::string_view kRequest = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    if (BIO_write(bio_.get(), kRequest.data(), static_cast<int>(kRequest.size())) <= 0) return 0;
    std::string reply;
    while (parse_reply(reply).body != "hello\n") {
      char bytes[4096];
      const int size = BIO_read(bio_.get(), bytes, sizeof bytes);
      if (size <= 0) return 0;
      reply.append(bytes, static_cast<std::size_t>(size));
    }
    return parse_reply(reply).status;
  }

 private:
  std::unique_ptr<SSL_CTX, FreeSsl> context_{SSL_CTX_new(TLS_client_method())};
  std::unique_ptr<BIO, decltype(&BIO_free_all)> bio_{BIO_new_ssl_connect(context_.get()), BIO_free_all};
};

}  // namespace

TEST_SUITE_BEGIN("handshakes");

TEST_CASE("a flood of handshakes delays those of another address by at most one") {
  Gate gate;
  Steps steps;
  steps.handshakes.submit(1, "flood", std::make_unique<FakeStream>(&gate));
  REQUIRE(gate.reached());
  for (Handshakes::Ticket ticket = 2; ticket < 500; ++ticket) {
    steps.handshakes.submit(ticket, "flood", std::make_unique<FakeStream>());
  }
  steps.handshakes.submit(1000, "good", std::make_unique<FakeStream>());
  steps.handshakes.submit(1001, "good", std::make_unique<FakeStream>());
  gate.open();
  const std::vector<Handshakes::Ticket> done = steps.wait_for(501);
  REQUIRE(done.size() == 501);
  CHECK(std::find(done.begin(), done.end(), 1000) - done.begin() <= 2);
  CHECK(std::find(done.begin(), done.end(), 1001) - done.begin() <= 4);
}

TEST_CASE("a cancelled handshake is closed if it waits, and reported if a thread works on it") {
  Gate gate;
  Steps steps;
  bool closed = false;
  steps.handshakes.submit(1, "a", std::make_unique<FakeStream>(&gate));
  REQUIRE(gate.reached());
  steps.handshakes.submit(2, "a", std::make_unique<FakeStream>(nullptr, &closed));
  steps.handshakes.submit(3, "b", std::make_unique<FakeStream>());
  steps.handshakes.cancel(1);
  steps.handshakes.cancel(2);
  steps.handshakes.cancel(77);
  CHECK(closed);
  gate.open();
  CHECK(steps.wait_for(2) == std::vector<Handshakes::Ticket>{1, 3});
}

TEST_CASE("a slow handshake does not delay connected clients") {
  const TlsServer server;
  const std::shared_ptr<SSL_CTX> slow(SSL_CTX_new(TLS_server_method()), FreeSsl());
  Gate gate;
  SSL_CTX_set_client_hello_cb(
      slow.get(),
      [](SSL*, int*, void* its_gate) {
        static_cast<Gate*>(its_gate)->pass();
        return SSL_CLIENT_HELLO_ERROR;
      },
      &gate);
  std::atomic<bool> is_slow = false;
  RecordingLog log;
  Hello handler;
  TestListenerOptions options;
  options.addresses = {parse_listen_address("127.0.0.1:0")};
  options.workers = 2;
  options.tls = [&] { return Front::Tls{is_slow ? slow : server.context, 1}; };
  TestListener listener(options, handler, log);

  Client client(listener.port());
  CHECK(client.ask() == 200);
  is_slow = true;
  HttpConnection other(listener.port());
  other.send(client_hello());
  REQUIRE(gate.reached());
  is_slow = false;
  CHECK(client.ask() == 200);
  CHECK(listener.responds(60s));
  gate.open();
  CHECK(other.closed_within(60s));
  CHECK(client.ask() == 200);
}

TEST_CASE("connections that were reset or closed before they are accepted cost no signature and evict nobody") {
  const TlsServer server;
  RecordingLog log;
  Hello handler;
  ListenerOptions options;
  options.workers = 2;
  options.front.connections = 8;
  options.tls = [&] { return Front::Tls{server.context, 1}; };
  ListeningSockets sockets({}, {parse_listen_address("127.0.0.1:0")});
  std::vector<UniqueFd> listening = sockets.take_sockets();
  const std::string address = local_address(listening.front().get());
  const auto port = static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
  const std::string hello = client_hello();
  HttpConnection early(port);
  for (int i = 0; i < 100; ++i) {
    HttpConnection flood(port);
    REQUIRE(flood.send(hello));
    if (i % 2 == 0) flood.reset();  // the others are closed
  }
  Listener listener(options, std::move(listening), handler, log);
  CHECK(Client(port).ask() == 200);
  CHECK(server.hellos == 1);
  REQUIRE(early.send("GET / HTTP/1.1\r\n\r\n"));
  CHECK(early.receive().find("HTTPS") != std::string::npos);
}

TEST_SUITE_END();
