// SPDX-License-Identifier: Apache-2.0
//
// Any bytes to the HTTP server over a socket: each response is complete, and the connection ends.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "server/http/message.h"
#include "support/http_client.h"
#include "support/test_listener.h"

using namespace igpu;
using namespace igpu::exporter;

namespace {

class Answering final : public HttpHandler {
 public:
  void handle(const HttpRequest& request, HttpResponse& response) override {
    response.body = request.path();
    response.body += request.query();
    response.body += request.list_header("Accept");
    try {
      for (const std::string& value : query_values(request.query(), "collect[]")) response.body += value;
    } catch (const std::invalid_argument& error) {
      response.fail(400, error.what());
    }
  }
  void answered(int status) override { FUZZ_CHECK(status >= 200 && status < 600); }
};

class Silent final : public Log {
 public:
  void write(LogLevel, std::string_view, std::initializer_list<LogField>) override {}
};

struct Server {
  std::string path = "/tmp/igpu-front-fuzz-" + std::to_string(::getpid());
  Answering handler;
  Silent log;
  test::TestListener listener;

  Server() : listener(options(path), handler, log) {}
  static test::TestListenerOptions options(const std::string& path) {
    test::TestListenerOptions options;
    options.addresses = {parse_listen_address("unix:" + path)};
    options.workers = 2;
    options.front.head_timeout = std::chrono::milliseconds(200);
    return options;
  }
};

// One answer after the other, nothing between them and nothing behind the last one.
void check_answers(std::string_view bytes) {
  while (!bytes.empty()) {
    const test::HttpReply reply = test::parse_reply(bytes);
    FUZZ_CHECK(reply.status >= 200);
    const std::string length = reply.header("content-length");
    FUZZ_CHECK(!length.empty());
    bytes.remove_prefix(reply.head.size() + 4);
    const std::size_t size = std::stoul(length);
    // The answer to a HEAD request has no body; the next one begins at once.
    if (bytes.starts_with("HTTP/1.1 ") || (bytes.empty() && size > 0)) continue;
    FUZZ_CHECK(bytes.size() >= size);
    bytes.remove_prefix(size);
  }
}

}  // namespace

FUZZ_TARGET(http_front) {
  static Server server;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);

  const RequestFraming framing = scan_request(bytes);
  if (framing.state == RequestFraming::State::complete) {
    FUZZ_CHECK(framing.head_size > 0 && framing.head_size <= size);
    FUZZ_CHECK(framing.target_size < framing.head_size);
  }

  test::HttpConnection connection(server.path);
  connection.send(bytes);
  connection.half_close();
  check_answers(connection.receive(std::chrono::seconds(5)));
  return 0;
}
