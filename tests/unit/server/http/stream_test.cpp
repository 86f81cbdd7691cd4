// SPDX-License-Identifier: Apache-2.0
#include "server/http/stream.h"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/listener.h"
#include "support/http_client.h"
#include "support/tls_peers.h"
#include "support/tls_records.h"

using namespace igpu::exporter;
using igpu::UniqueFd;
using namespace igpu::test;
using Wants = Stream::Wants;

namespace {

constexpr int kDeadline = 60'000;  // milliseconds

// A listening socket whose connections the test accepts.
class Accepting {
 public:
  std::uint16_t port() const {
    const std::string name = local_address(socket_.get());
    return static_cast<std::uint16_t>(std::stoul(name.substr(name.rfind(':') + 1)));
  }
  UniqueFd accept() const {
    pollfd ready{socket_.get(), POLLIN, 0};
    REQUIRE(::poll(&ready, 1, kDeadline) == 1);
    return UniqueFd(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  }

 private:
  UniqueFd socket_ = listen_on(parse_listen_address("127.0.0.1:0"), {});
};

int unread(int socket) {
  int bytes = 0;
  REQUIRE(::ioctl(socket, FIONREAD, &bytes) == 0);
  return bytes;
}

void wait_for(int socket, short events) {
  pollfd state{socket, events, 0};
  REQUIRE(::poll(&state, 1, kDeadline) == 1);
}

// A client and the stream of its connection, after the handshake.
struct Connected {
  TlsServer server;
  std::unique_ptr<SSL_CTX, FreeSsl> context{SSL_CTX_new(TLS_client_method())};
  TlsRecords records{*context};
  std::unique_ptr<SSL, FreeSsl> client;
  std::unique_ptr<Stream> stream;
  UniqueFd socket;

  explicit Connected(int version = TLS1_3_VERSION) {
    SSL_CTX_set_max_proto_version(context.get(), version);
    const Accepting accepting;
    socket = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(accepting.port());
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name);
    stream = tls_stream(accepting.accept(), server.context);
    wait_for(socket.get(), POLLOUT);
    client.reset(SSL_new(context.get()));
    SSL_set_fd(client.get(), socket.get());
    shake_hands();
  }

  void shake_hands() {
    for (bool client_done = false, server_done = false; !server_done;) {
      client_done = client_done || SSL_connect(client.get()) == 1;
      wait_for(stream->descriptor(), POLLIN);
      const Wants wants = stream->handshake().wants;
      REQUIRE(wants != Wants::to_end);
      server_done = wants == Wants::nothing;
      if (!client_done) wait_for(socket.get(), POLLIN);
    }
  }

  bool send(std::string_view bytes) {
    return SSL_write(client.get(), bytes.data(), static_cast<int>(bytes.size())) == static_cast<int>(bytes.size());
  }

  // A record that OpenSSL's client would not send.
  void send_record(TlsRecords::Type type, std::string_view content) {
    const std::string record = records.make(type, content);
    REQUIRE(::send(socket.get(), record.data(), record.size(), 0) == static_cast<ssize_t>(record.size()));
  }

  struct Received {
    std::size_t bytes = 0;
    int calls = 0;
    bool closed = false;
  };
  // Until all that has arrived is read, or the stream wants to be closed.
  Received read_all() {
    Received received;
    std::array<char, 4096> into{};
    while (!received.closed && (unread(stream->descriptor()) > 0 || stream->pending())) {
      const Stream::Result result = stream->read(into);
      ++received.calls;
      received.bytes += result.bytes;
      received.closed = result.wants == Wants::to_end;
    }
    return received;
  }
};

}  // namespace

TEST_SUITE_BEGIN("stream");

TEST_CASE("the handshake of a client that has left costs no signature") {
  TlsServer server;
  const std::string hello = client_hello();
  const Accepting accepting;
  for (const bool reset : {true, false}) {
    CAPTURE(reset);
    HttpConnection client(accepting.port());
    REQUIRE(client.send(hello));
    UniqueFd socket = accepting.accept();
    if (reset) {
      client.reset();
    } else {
      client.half_close();
    }
    wait_for(socket.get(), POLLRDHUP);
    const std::unique_ptr<Stream> stream = tls_stream(std::move(socket), server.context);
    CHECK(stream->handshake().wants == Wants::to_end);
  }
  CHECK(server.hellos == 0);
}

TEST_CASE("a handshake that is reset between two steps ends without another one") {
  TlsServer server;
  const std::string hello = client_hello();
  const Accepting accepting;
  HttpConnection client(accepting.port());
  REQUIRE(client.send(hello.substr(0, 20)));
  const std::unique_ptr<Stream> stream = tls_stream(accepting.accept(), server.context);
  wait_for(stream->descriptor(), POLLIN);
  CHECK(stream->handshake().wants == Wants::to_read);
  REQUIRE(client.send(hello.substr(20)));
  client.reset();
  wait_for(stream->descriptor(), POLLRDHUP);
  CHECK(stream->handshake().wants == Wants::to_end);
  CHECK(server.hellos == 0);
}

TEST_CASE("a ClientHello in records of one byte is not read to its end") {
  TlsServer server;
  const Accepting accepting;
  HttpConnection client(accepting.port());
  const std::string hello = client_hello();
  std::string records;
  for (const char byte : hello.substr(5)) records += std::string("\x16\x03\x01\x00\x01", 5) + byte;
  REQUIRE(client.send(records));
  client.half_close();  // after all of its bytes
  const std::unique_ptr<Stream> stream = tls_stream(accepting.accept(), server.context);
  Stream::Result result{0, Wants::to_read};
  for (int i = 0; i < 1000 && result.wants == Wants::to_read; ++i) {
    wait_for(stream->descriptor(), POLLIN);
    result = stream->handshake();
  }
  CHECK(result.wants == Wants::to_end);
  CHECK(server.hellos == 0);
}

TEST_CASE("KeyUpdates are read one at a time, and too many without a request close the connection") {
  Connected pair;
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(SSL_key_update(pair.client.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1);
    REQUIRE(SSL_do_handshake(pair.client.get()) == 1);
  }
  wait_for(pair.stream->descriptor(), POLLIN);
  const Connected::Received received = pair.read_all();
  CHECK(received.closed);
  CHECK(received.bytes == 0);
  CHECK(received.calls > 100);
  CHECK(received.calls < 200);
}

TEST_CASE("too many short records without an answer close the connection") {
  Connected pair;
  for (int i = 0; i < 1000; ++i) REQUIRE(pair.send("G"));
  wait_for(pair.stream->descriptor(), POLLIN);
  const Connected::Received received = pair.read_all();
  CHECK(received.closed);
  CHECK(received.bytes < 200);
}

TEST_CASE("no record without a byte of a request keeps the stream busy") {
  using Type = TlsRecords::Type;
  constexpr std::string_view kWarning("\x01\x5a", 2);  // user_canceled, the one warning that TLS 1.3 has
  struct Flood {
    std::string what;
    int version;
    Type type;
    std::string content;
    std::size_t bytes_of_record;  // the content is sent again and again, in records of this size
  };
  const std::string renegotiation = client_hello().substr(5);  // without the header of its record
  const std::string key_update("\x18\x00\x00\x01\x00", 5);
  const std::vector<Flood> floods{
      {"empty records, TLS 1.2", TLS1_2_VERSION, Type::data, "", 1},
      {"empty records, TLS 1.3", TLS1_3_VERSION, Type::data, "", 1},
      {"warnings, TLS 1.2", TLS1_2_VERSION, Type::alert, std::string(kWarning), 2},
      {"warnings, TLS 1.3", TLS1_3_VERSION, Type::alert, std::string(kWarning), 2},
      {"alerts in two parts, TLS 1.2", TLS1_2_VERSION, Type::alert, std::string(kWarning), 1},
      {"renegotiation, TLS 1.2", TLS1_2_VERSION, Type::handshake, renegotiation, 4096},
      {"renegotiation in fragments, TLS 1.2", TLS1_2_VERSION, Type::handshake, renegotiation, 1},
      {"renegotiation, TLS 1.3", TLS1_3_VERSION, Type::handshake, renegotiation, 4096},
      {"KeyUpdates in fragments, TLS 1.3", TLS1_3_VERSION, Type::handshake, key_update, 1},
  };
  for (const Flood& flood : floods) {
    CAPTURE(flood.what);
    Connected pair(flood.version);
    for (std::size_t sent = 0, at = 0; sent < 500; ++sent) {
      const std::string_view content = std::string_view(flood.content).substr(at, flood.bytes_of_record);
      pair.send_record(flood.type, content);
      at = at + content.size() < flood.content.size() ? at + content.size() : 0;
    }
    Connected::Received received;
    while (!received.closed) {
      wait_for(pair.stream->descriptor(), POLLIN);
      const Connected::Received more = pair.read_all();
      received = {received.bytes + more.bytes, received.calls + more.calls, more.closed};
    }
    CHECK(received.bytes == 0);
    CHECK(received.calls < 200);
  }
}

TEST_CASE("records that the test makes itself are read like those of OpenSSL") {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    CAPTURE(version);
    Connected pair(version);
    pair.send_record(TlsRecords::Type::data, "GET / ");
    pair.send_record(TlsRecords::Type::data, "HTTP/1.1");
    for (std::size_t received = 0; received < 14;) {
      wait_for(pair.stream->descriptor(), POLLIN);
      const Connected::Received more = pair.read_all();
      REQUIRE_FALSE(more.closed);
      received += more.bytes;
    }
  }
}

TEST_CASE("a request may be sent line by line, and a connection may carry any number of requests") {
  Connected pair;
  for (int request = 0; request < 20; ++request) {
    std::size_t sent = 0;
    for (const std::string_view line : {"GET / HTTP/1.1\r\n", "\r\n"}) {
      REQUIRE(pair.send(line));
      sent += line.size();
    }
    for (int header = 0; header < 64; ++header) {
      REQUIRE(pair.send("X: y\r\n"));
      sent += 6;
    }
    for (std::size_t received = 0; received < sent;) {
      wait_for(pair.stream->descriptor(), POLLIN);
      const Connected::Received more = pair.read_all();
      REQUIRE_FALSE(more.closed);
      received += more.bytes;
    }
    CHECK(pair.stream->write("answer", "").bytes == 6);
  }
}

TEST_SUITE_END();
