// SPDX-License-Identifier: Apache-2.0
// The server in this process, on real sockets, without a GPU behind it.
#include "server/http/listener.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "support/http_client.h"
#include "support/recording_log.h"
#include "support/test_listener.h"

using namespace igpu;
using namespace igpu::exporter;
using namespace igpu::test;
using namespace std::chrono_literals;

namespace {

class EchoHandler final : public HttpHandler {
 public:
  std::function<void()> during;
  std::function<void(const HttpRequest&)> with_request;
  std::string body = "hello\n";
  std::atomic<int> last_status = 0;
  std::function<void(int)> on_answered;

  void handle(const HttpRequest& request, HttpResponse& response) override {
    if (during) during();
    if (with_request) with_request(request);
    response.body = body;
    response.body += request.path();
    response.body += '|';
    response.body += request.query();
    response.body += '|';
    response.body += request.header("X-Test");
    response.body += '|';
    response.body += request.list_header("accept");
  }
  void answered(int status) override {
    last_status = status;
    if (on_answered) on_answered(status);
  }
};

struct Server {
  RecordingLog log;
  EchoHandler handler;
  TestListener listener;

  explicit Server(std::vector<std::string> addresses = {"127.0.0.1:0"}, std::chrono::milliseconds timeout = 500ms)
      : listener(options(addresses, timeout), handler, log) {}

  static TestListenerOptions options(const std::vector<std::string>& addresses, std::chrono::milliseconds timeout) {
    TestListenerOptions options;
    for (const std::string& address : addresses) options.addresses.push_back(parse_listen_address(address));
    options.workers = 8;
    options.front.head_timeout = timeout;
    options.front.write_timeout = timeout;
    return options;
  }
  std::uint16_t port(std::size_t index = 0) const { return listener.port(index); }
};

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::string socket_path(const char* name) { return "/tmp/igpu-" + std::to_string(::getpid()) + "-" + name; }

}  // namespace

TEST_SUITE_BEGIN("listener");

namespace {

// Begins a stream with "first", sends "next 1", "next 2", … for as long as `on`.
class Ticking final : public HttpHandler {
 public:
  static constexpr auto kInterval = 20ms;

  void handle(const HttpRequest& request, HttpResponse& response) override {
    response.body = event_bytes("first");
    if (request.path() != "/stream") return;
    response.content_type = "text/event-stream";
    response.subscription =
        Subscription{kInterval, std::chrono::steady_clock::now(), place, ended.get_token(), rules()};
  }
  void answered(int) override {}
  Event next_event() override {
    const int number = ++made;
    if (number == failing) throw std::runtime_error("no reading");
    auto bytes = std::make_shared<const std::string>(event_bytes("next " + std::to_string(number) + padding));
    return {bytes, std::chrono::steady_clock::now(), rules()};
  }

  std::shared_ptr<const void> rules() {
    const std::lock_guard lock(mutex);
    return accepted_under;
  }
  void change_rules() {
    const std::lock_guard lock(mutex);
    accepted_under = std::make_shared<int>();
  }

  std::shared_ptr<const void> place = std::make_shared<int>();
  std::stop_source ended;
  std::string padding;
  int failing = 0;
  std::atomic<int> made = 0;
  std::mutex mutex;
  std::shared_ptr<const void> accepted_under;
};

struct TickingServer {
  RecordingLog log;
  Ticking handler;
  TestListener listener{Server::options({"127.0.0.1:0"}, 60s), handler, log};

  HttpConnection open(const std::string& rest = {}) {
    HttpConnection client(listener.port());
    client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n" + rest);
    return client;
  }
  bool all_left() {  // places are given back
    for (int i = 0; i < 3000 && handler.place.use_count() > 1; ++i) std::this_thread::sleep_for(5ms);
    return handler.place.use_count() == 1;
  }
  void wait_for_events(int more) {
    const int until = handler.made + more;
    for (int i = 0; i < 3000 && handler.made < until; ++i) std::this_thread::sleep_for(5ms);
    REQUIRE(handler.made >= until);
  }
};

}  // namespace

TEST_CASE("a stream: the answer has no length, and events follow until the server stops") {
  TickingServer server;
  server.handler.failing = 2;                                                // the others still come
  HttpConnection client = server.open("GET / HTTP/1.1\r\nHost: x\r\n\r\n");  // what follows is no request
  server.wait_for_events(5);
  server.listener.stop(0ms);
  const HttpReply reply = parse_reply(client.receive());
  CHECK(reply.status == 200);
  CHECK(reply.header("content-length").empty());
  CHECK(reply.header("connection") == "close");
  CHECK(reply.body.starts_with("data: first\n\ndata: next 1\n\ndata: next 3\n\n"));
  CHECK(server.handler.place.use_count() == 1);
}

TEST_CASE("one event serves all streams, and none is made for nobody") {
  TickingServer server;
  {
    std::vector<HttpConnection> clients;
    for (int i = 0; i < 20; ++i) clients.push_back(server.open());
    server.wait_for_events(3);
  }
  CHECK(server.all_left());
  // One that was asked for before the last client left may still be under way.
  const int made = server.handler.made;
  std::this_thread::sleep_for(500ms);
  CHECK(server.handler.made <= made + 1);
}

TEST_CASE("a stream that its client leaves, whose place is lost or that is under other rules ends") {
  TickingServer server;
  HttpConnection crashed = server.open(), half = server.open();
  server.wait_for_events(2);
  crashed.reset();
  half.half_close();
  CHECK(server.all_left());
  CHECK(half.closed_within(15s));
  HttpConnection loser = server.open();
  server.wait_for_events(2);
  server.handler.change_rules();
  CHECK(loser.closed_within(15s));
  HttpConnection late = server.open();
  server.wait_for_events(2);
  server.handler.ended.request_stop();
  CHECK(late.closed_within(15s));
}

TEST_CASE("HEAD of a stream has no event and ends") {
  TickingServer server;
  const HttpReply reply = http_get(server.listener.port(), "/stream", {}, "HEAD");
  CHECK(reply.status == 200);
  CHECK(reply.header("content-type") == "text/event-stream");
  CHECK(reply.body.empty());
  CHECK(server.all_left());
}

TEST_CASE("a slow reader is told how many events it lost") {
  TickingServer server;
  server.handler.padding.assign(8 << 20, 'x');  // more than the kernel keeps for a client
  HttpConnection slow = server.open();
  HttpConnection fast = server.open();
  std::atomic<bool> done = false;
  std::thread reader([&] {
    while (!done) (void)fast.receive(20ms);
  });
  server.wait_for_events(6);
  std::string received;
  for (int i = 0; i < 1000 && received.find("event: lost\n") == std::string::npos; ++i) received += slow.receive(20ms);
  done = true;
  reader.join();
  const std::size_t at = received.find("event: lost\ndata: ");
  REQUIRE(at != std::string::npos);
  const std::string number = received.substr(at + 18, received.find('\n', at + 18) - at - 18);
  CHECK(std::stoi(number) > 0);
  CHECK(received.substr(at - 2, 2) == "\n\n");
}

TEST_CASE("a request arrives as it was sent, and the answer states its length") {
  Server server;
  const HttpReply reply =
      http_get(server.port(), "/a%20b?x=%41", "X-Test: one\r\nx-test: two\r\nAccept: a/b\r\nACCEPT: c/d\r\n");
  CHECK(reply.status == 200);
  CHECK(reply.body == "hello\n/a b|x=%41|one|a/b,c/d");
  CHECK(reply.header("content-length") == std::to_string(reply.body.size()));
  CHECK(reply.header("x-content-type-options") == "nosniff");
  CHECK(reply.header("date").ends_with(" GMT"));
  CHECK(reply.header("date").size() == 29);
  CHECK(server.handler.last_status == 200);
}

TEST_CASE("a request with an absolute URL, as for a proxy, is answered") {
  Server server;
  CHECK(http_get(server.port(), "http://127.0.0.1:1/a?b").body == "hello\n/a|b||");
  CHECK(http_get(server.port(), "https://gpu.example").body == "hello\n/|||");
  for (const char* target : {"http:///a", "ftp://h/x", "x/metrics", "metrics", "http:/x", "?"}) {
    CAPTURE(target);
    CHECK(http_get(server.port(), target).status == 400);
    CHECK(server.handler.last_status == 400);
  }
}

TEST_CASE("a path stays as it was sent and is not resolved like a file name") {
  Server server;
  const auto path = [&](const std::string& target) {
    const HttpReply reply = http_get(server.port(), target);
    if (reply.status != 200) return std::to_string(reply.status);
    return reply.body.substr(6, reply.body.find('|') - 6);
  };
  CHECK(path("/%6detrics") == "/metrics");
  for (const char* other :
       {"/metrics.", "//metrics", "/foo/../metrics", "/./metrics", "/metrics/", "/metrics/.", "/\\metrics",
        "/foo/%2e%2e/metrics", "/metrics%00foo", "/-/healthy%00.html", "/metrics%", "/%zzmetrics"}) {
    CAPTURE(other);
    const std::string seen = path(other);
    CHECK(seen != "/metrics");
    CHECK(seen != "/-/healthy");
  }
  CHECK(path("/metrics.") == "/metrics.");
  CHECK(path("//metrics") == "//metrics");
  CHECK(path("/foo/%2e%2e/metrics") == "/foo/../metrics");
  CHECK(path("/metrics%00foo") == std::string("/metrics\0foo", 12));
  CHECK(path("/metrics%") == "/metrics%");
  CHECK(path("/%256detrics") == "/%6detrics");  // decoded once
}

TEST_CASE("clients are identified by their address, without the port") {
  class WhoHandler final : public HttpHandler {
   public:
    void handle(const HttpRequest& request, HttpResponse& response) override { response.body = request.client(); }
    void answered(int) override {}
  };
  const std::string path = socket_path("who");
  TestListenerOptions options = Server::options({"127.0.0.1:0", ":0", "unix:" + path}, 60s);
  RecordingLog log;
  WhoHandler handler;
  TestListener listener(options, handler, log);
  for (const std::size_t index : {std::size_t{0}, std::size_t{1}}) {  // the second may see ::ffff:127.0.0.1
    CHECK(http_get(listener.port(index), "/").body == std::string("\x7f\0\0\1", 4));
  }
  HttpConnection local(path);
  local.send("GET / HTTP/1.0\r\n\r\n");
  const HttpReply reply = parse_reply(local.receive());
  CHECK(reply.status == 200);
  CHECK(reply.body.empty());
}

TEST_CASE("HEAD has the headers of GET and no body") {
  Server server;
  const HttpReply get = http_get(server.port(), "/x");
  const HttpReply head = http_get(server.port(), "/x", "", "HEAD");
  CHECK(head.status == 200);
  CHECK(head.body.empty());
  CHECK(head.header("content-length") == get.header("content-length"));
  CHECK(head.header("content-type") == get.header("content-type"));
}

TEST_CASE("a request with a body gets its answer") {
  Server server;
  HttpConnection connection(server.port());
  connection.send("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n");
  connection.send("12345");
  CHECK(parse_reply(connection.receive()).status == 200);
}

TEST_CASE("the server does not wait for a body that never arrives") {
  Server server({"127.0.0.1:0"}, 300ms);
  HttpConnection connection(server.port());
  connection.send("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n");
  const auto until = std::chrono::steady_clock::now() + 3s;
  bool open = true;
  while (open && std::chrono::steady_clock::now() < until) {
    open = connection.send("x");  // a byte now and then would occupy a worker forever
    std::this_thread::sleep_for(20ms);
  }
  CHECK_FALSE(open);
}

TEST_CASE("as many requests as workers run concurrently; the others follow") {
  Server server;  // with 8 workers
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0;
  bool met = false;
  server.handler.during = [&] {
    std::unique_lock lock(mutex);
    met = ++inside >= 8 || met;
    changed.notify_all();
    changed.wait_for(lock, 10s, [&] { return met; });
    --inside;
  };
  std::vector<std::future<HttpReply>> replies;
  for (int i = 0; i < 20; ++i)
    replies.push_back(std::async(std::launch::async, [&] { return http_get(server.port(), "/x"); }));
  for (auto& reply : replies) CHECK(reply.get().status == 200);
  CHECK(met);
}

TEST_CASE("a slow request delays nobody, also while the front's own thread answers it") {
  Server server;
  std::promise<void> begun;
  std::promise<void> released;
  server.handler.with_request = [&](const HttpRequest& request) {
    if (request.path() != "/slow") return;
    begun.set_value();
    request.notice_resets();  // which the front has to do
    released.get_future().wait();
  };
  for (int i = 0; i < 3; ++i) {
    HttpConnection slow(server.port());
    slow.send("GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    begun.get_future().wait();
    CHECK(server.listener.responds(60s));
    for (int k = 0; k < 10; ++k) CHECK(http_get(server.port(), "/quick").status == 200);
    released.set_value();
    CHECK(parse_reply(slow.receive()).status == 200);
    begun = {};
    released = {};
  }
}

namespace {

// Sends requests to a front that does not read, because it rejects one meanwhile, and then reads all of them at once.
struct ArrivingTogether {
  Server server;
  std::vector<HttpConnection> clients;
  std::promise<void> rejecting, sent;
  std::thread::id front;

  explicit ArrivingTogether(int number) {
    for (int i = 0; i < number; ++i) clients.emplace_back(server.port());
    server.handler.on_answered = [this](int status) {
      if (status != 400) return;
      front = std::this_thread::get_id();
      rejecting.set_value();
      sent.get_future().wait();
    };
    for (HttpConnection& client : clients) CHECK(status_of(client, "/first") == 200);  // accepted
  }
  void send(const std::vector<std::string>& paths) {
    HttpConnection malformed(server.port());
    malformed.send("this is not HTTP\r\n\r\n");
    rejecting.get_future().wait();
    for (std::size_t i = 0; i < paths.size(); ++i) clients[i].send("GET " + paths[i] + " HTTP/1.1\r\nHost: x\r\n\r\n");
    sent.set_value();
  }
  static int status_of(HttpConnection& client, const std::string& path) {
    client.send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
    return status_of(client);
  }
  static int status_of(HttpConnection& client) { return parse_reply(client.receive_reply()).status; }
};

}  // namespace

TEST_CASE("requests that arrive together are answered one after the other, without another thread") {
  bool together = false;
  for (int round = 0; round < 20 && !together; ++round) {  // on a busy machine the moment may be over before all are
    ArrivingTogether scene(4);
    std::mutex mutex;
    std::vector<Arrival> arrivals;
    together = true;
    scene.server.handler.with_request = [&](const HttpRequest& request) {
      const std::lock_guard lock(mutex);
      arrivals.push_back(request.arrival());
      together = together && std::this_thread::get_id() == scene.front;
    };
    scene.send({"/a", "/b", "/c", "/d"});
    for (HttpConnection& client : scene.clients) CHECK(scene.status_of(client) == 200);
    const std::lock_guard lock(mutex);
    REQUIRE(arrivals.size() == 4);
    for (const Arrival& arrival : arrivals) {
      CHECK(arrival.time <= std::chrono::steady_clock::now());
      together = together && arrival.time == arrivals[0].time && arrival.others_wait == (&arrival != &arrivals.back());
    }
  }
  CHECK(together);
}

TEST_CASE("a slow request holds up none that arrived with it") {
  ArrivingTogether scene(4);
  std::promise<void> released;
  scene.server.handler.with_request = [&](const HttpRequest& request) {
    if (request.path() == "/slow") released.get_future().wait();
  };
  scene.send({"/slow", "/b", "/c", "/d"});
  for (std::size_t i = 1; i < 4; ++i) CHECK(scene.status_of(scene.clients[i]) == 200);
  CHECK(scene.server.listener.responds(60s));
  released.set_value();
  CHECK(scene.status_of(scene.clients[0]) == 200);
}

TEST_CASE("sequential clients keep few threads busy; the others are a reserve") {
  Server server;
  std::mutex mutex;
  std::map<std::thread::id, int> requests;
  server.handler.during = [&] {
    const std::lock_guard lock(mutex);
    ++requests[std::this_thread::get_id()];
  };
  // A worker that has not finished with one client leaves the next to another, so any round may fail on a busy
  // machine. If the workers took turns, every round would.
  std::size_t busy = 8;
  for (int round = 0; round < 20 && busy > 4; ++round) {
    requests.clear();
    for (int i = 0; i < 40; ++i) {
      CHECK(http_get(server.port(), "/x").status == 200);
      std::this_thread::sleep_for(1ms);
    }
    busy = requests.size();
  }
  CHECK(busy <= 4);
}

TEST_CASE("a handler that throws gives a 500 and does no harm") {
  Server server;
  server.handler.during = [] { throw std::runtime_error("broken"); };
  CHECK(http_get(server.port(), "/x").status == 500);
  CHECK(server.log.count(LogLevel::error) == 1);
  server.handler.during = nullptr;
  CHECK(http_get(server.port(), "/x").status == 200);
}

TEST_CASE("input that is not HTTP gets a 400 in plain text, and is counted") {
  Server server;
  for (const char* bytes :
       {"garbage\r\n\r\n", "GET\r\n\r\n", "GET /x HTTP/1.1\n\r\n", "\tGET /x HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET  /x HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"}) {
    CAPTURE(bytes);
    HttpConnection connection(server.port());
    connection.send(bytes);
    const HttpReply reply = parse_reply(connection.receive());
    CHECK(reply.status == 400);
    CHECK(reply.body == "Bad Request\n");
    CHECK(server.handler.last_status == 400);
  }
  HttpConnection connection(server.port());
  connection.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  CHECK(parse_reply(connection.receive()).status >= 400);
  CHECK(http_get(server.port(), "/x").status == 200);
}

TEST_CASE("requests that are too large are rejected with the matching status, and counted") {
  Server server;
  std::string many_headers = "GET /x HTTP/1.1\r\nHost: x\r\n";
  for (int i = 0; i < 400; ++i) many_headers += "X-" + std::to_string(i) + ": " + std::string(60, 'x') + "\r\n";
  const struct {
    std::string request;
    int status;
  } cases[] = {{many_headers + "\r\n", 431},
               {many_headers, 431},  // not even an end
               {"GET /x HTTP/1.1\r\nHost: x\r\n" + repeated("X: y\r\n", 64) + "\r\n", 431},
               {"GET /" + std::string(9000, 'x') + " HTTP/1.1\r\nHost: x\r\n\r\n", 414},
               {"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 16385\r\n\r\n", 413},
               {"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n", 413}};
  for (const auto& [request, expected] : cases) {
    const int status = expected;  // clang 14 captures no structured binding
    CAPTURE(status);
    HttpConnection connection(server.port());
    connection.send(request);
    CHECK(parse_reply(connection.receive()).status == status);
    CHECK(server.handler.last_status == status);
    HttpConnection head(server.port());
    head.send("HEAD" + request.substr(request.find(' ')));
    const HttpReply answer = parse_reply(head.receive());
    CHECK(answer.status == status);
    CHECK(answer.body.empty());
  }
  CHECK(http_get(server.port(), "/x").status == 200);
}

TEST_CASE("the maximum number of headers is accepted, and all are readable") {
  Server server;
  const HttpReply reply = http_get(server.port(), "/x", repeated("X-Other: y\r\n", 61) + "X-Test: last\r\n");
  CHECK(reply.status == 200);
  CHECK(reply.body == "hello\n/x||last|");
}

TEST_CASE("an ambiguous request gets a 400, and nothing after it is answered") {
  Server server;
  const std::string smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
  for (const char* lines :
       {"Host: x\r\nContent-Length : 36\r\n", "Host: x\r\nTransfer-Encoding : chunked\r\n",
        "Host: x\r\nConnection : close\r\n", "Host: x\r\n Content-Length: 36\r\n",
        "Host: x\r\n: x\r\nContent-Length: 36\r\n", "Host: x\r\n\xc3\xa4: x\r\nContent-Length: 36\r\n",
        "Host: x\r\nX: y\r\n folded\r\n", "Host: x\r\nContent-Length: 5\r\nContent-Length: 36\r\n",
        "Host: x\r\nContent-Length: -1\r\n", "Host: x\r\nContent-Length: +5\r\n", "", "Host: x\r\nHost: y\r\n",
        "Host: x y\r\n", "Host: http://x\r\n", "Host: x\r\nTransfer-Encoding: chunked, chunked\r\n"}) {
    CAPTURE(lines);
    HttpConnection connection(server.port());
    connection.send("GET /x HTTP/1.1\r\n" + std::string(lines) + "\r\n" + smuggled);
    const std::string all = connection.receive();
    CHECK(parse_reply(all).status == 400);
    CHECK(all.find("HTTP/1.1", 1) == std::string::npos);
    CHECK(server.handler.last_status == 400);
  }
}

TEST_CASE("unsupported methods of any name reach the handler; requests that name no resource get a 405") {
  class Method final : public HttpHandler {
   public:
    void handle(const HttpRequest& request, HttpResponse& response) override {
      const bool answered = request.method() == "GET" || request.method() == "HEAD";
      response.body = request.header("X-Test");
      if (!answered) response.fail(405, std::string(request.path()) + "?" + std::string(request.header("X-Test")));
    }
    void answered(int) override {}
  };
  RecordingLog log;
  Method handler;
  TestListener listener(Server::options({"127.0.0.1:0"}, 60s), handler, log);
  const std::uint16_t port = listener.port();
  for (const char* method :
       {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "PROPFIND", "FOO", "get", "M-SEARCH", "X!1"}) {
    CAPTURE(method);
    const HttpReply reply = http_get(port, "/x?y", "X-Test: a\tb\r\n", method);
    CHECK(reply.status == 405);
    CHECK(reply.body == "/x?a b\n");
  }
  CHECK(http_get(port, "/x", "X-Test:\ta\tb\t\r\n").body == "a b");
  for (const auto& [method, target] : {std::pair("OPTIONS", "*"), std::pair("CONNECT", "example.org:443")}) {
    const HttpReply reply = http_get(port, target, "", method);
    CHECK(reply.status == 405);
    CHECK(reply.header("allow") == "GET, HEAD");
  }
  CHECK(http_get(port, "/x", "Transfer-Encoding: gzip, chunked\r\n", "POST").status == 501);
  CHECK(http_get(port, "*").status == 400);
  CHECK(http_get(port, "/x", "", "G(T").status == 400);
}

TEST_CASE("a connection carries several requests, also pipelined ones") {
  Server server;
  HttpConnection connection(server.port());
  for (int i = 0; i < 3; ++i) {
    connection.send("GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
    const HttpReply reply = parse_reply(connection.receive_reply());
    CHECK(reply.status == 200);
    CHECK(reply.header("connection").empty());
  }
  connection.send(
      "GET /first HTTP/1.1\r\nHost: x\r\n\r\nHEAD /second HTTP/1.1\r\nHost: x\r\n\r\nGET /third HTTP/1.1\r\nHost: "
      "x\r\nConnection: Close\r\n\r\n");
  const std::string all = connection.receive();
  CHECK(all.find("hello\n/first") != std::string::npos);
  CHECK(all.find("hello\n/second") == std::string::npos);  // HEAD
  CHECK(all.find("hello\n/third") != std::string::npos);
  HttpConnection old(server.port());
  old.send("GET /x HTTP/1.0\r\n\r\n");
  CHECK(parse_reply(old.receive()).header("connection") == "close");
}

TEST_CASE("an HTTP version other than 1.0 and 1.1 gets a 505") {
  Server server;
  for (const char* version : {"HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "HTTP/", "HTTP/1.1.1"}) {
    CAPTURE(version);
    HttpConnection connection(server.port());
    connection.send("GET /x " + std::string(version) + "\r\nHost: x\r\n\r\n");
    CHECK(parse_reply(connection.receive()).status == 505);
    CHECK(server.handler.last_status == 505);
  }
  HttpConnection connection(server.port());
  connection.send("GET /x SPDY/1.1\r\nHost: x\r\n\r\n");
  CHECK(parse_reply(connection.receive()).status == 400);
}

TEST_CASE("requests for known CivetWeb vulnerabilities get an ordinary answer, and so does the next client") {
  Server server;
  const std::string form =
      "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"../../../tmp/igpu-hole\"\r\n\r\nx\r\n--b--";
  const std::string requests[] = {
      // CVE-2025-55763: a folder's name as long as a head may be, without its slash, and a long Host to redirect to
      "GET /" + std::string(8000, 'd') + " HTTP/1.1\r\nHost: " + std::string(7000, 'h') +
          "\r\nConnection: close\r\n\r\n",
      // CVE-2025-9648: a form whose end never arrives
      "POST /x HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 4\r\n\r\n%=&%",
      // CVE-2020-27304: an upload with a name that leads elsewhere
      "POST /x HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: " +
          std::to_string(form.size()) + "\r\n\r\n" + form,
      "GET /../../../../etc/passwd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"};
  for (const std::string& request : requests) {
    HttpConnection connection(server.port());
    connection.send(request);
    const HttpReply reply = parse_reply(connection.receive());
    CHECK(reply.status >= 200);
    CHECK(reply.body.find("root:") == std::string::npos);
    CHECK(http_get(server.port(), "/x").status == 200);
  }
  CHECK(::access("/tmp/igpu-hole", F_OK) != 0);
}

TEST_CASE("hundreds of half-open and slow clients delay nobody and occupy no thread") {
  Server server({"127.0.0.1:0"}, 60s);
  server.handler.body.assign(1U << 20, 'x');
  std::vector<HttpConnection> crowd;
  for (int i = 0; i < 200; ++i) {
    crowd.emplace_back(server.port());
    if (i % 2 == 1) crowd.back().send("GET /x HTTP/1.1\r\nHost");
  }
  for (int i = 0; i < 200; ++i) {
    crowd.emplace_back(server.port());
    crowd.back().shrink_receive_buffer();
    crowd.back().send("GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  for (int i = 0; i < 20; ++i) CHECK(http_get(server.port(), "/x").status == 200);
}

TEST_CASE("when there are too many connections, silent ones are closed") {
  TestListenerOptions options = Server::options({"127.0.0.1:0"}, 60s);
  options.front.connections = 20;
  RecordingLog log;
  EchoHandler handler;
  TestListener listener(options, handler, log);
  const std::uint16_t port = listener.port();
  HttpConnection kept(port);
  kept.send("GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(parse_reply(kept.receive_reply()).status == 200);
  std::vector<HttpConnection> silent;
  for (int i = 0; i < 100; ++i) silent.emplace_back(port);
  CHECK(http_get(port, "/x").status == 200);
  CHECK(silent.front().closed_within(5s));
  kept.send("GET /x HTTP/1.1\r\nHost: x\r\n\r\n");  // sent a request before: it outlives those that did not
  CHECK(parse_reply(kept.receive_reply()).status == 200);
}

TEST_CASE("a client whose request is still in transit while many others connect is answered") {
  TestListenerOptions options = Server::options({"127.0.0.1:0"}, 60s);
  options.front.connections = 64;
  RecordingLog log;
  EchoHandler handler;
  TestListener listener(options, handler, log);
  const std::uint16_t port = listener.port();
  std::vector<HttpConnection> idle;
  for (int i = 0; i < 64; ++i) {
    idle.emplace_back(port);
    idle.back().send("GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
    REQUIRE(parse_reply(idle.back().receive_reply()).status == 200);
  }
  // What comes from one address between a distant client's connection and its first byte, and between its bytes.
  std::vector<HttpConnection> others;
  const auto others_connect = [&](int number, std::string_view bytes) {
    for (int i = 0; i < number; ++i) others.emplace_back(port).send(bytes);
    for (int round = 0; round < 10; ++round) REQUIRE(listener.responds(30s));  // all have been accepted
  };
  for (const char* bytes : {"", "GET /x HT"}) {
    CAPTURE(bytes);
    HttpConnection near(port);
    others_connect(10, bytes);
    near.send("GET /x HTTP/1.1\r\n");
    others_connect(10, bytes);
    near.send("Host: x\r\nConnection: close\r\n\r\n");
    CHECK(parse_reply(near.receive()).status == 200);
  }
  HttpConnection good(port, "127.0.0.1", "127.0.0.2");  // has an address of its own: their number does not matter
  others_connect(300, "");
  good.send("GET /x HTTP/1.1\r\n");
  others_connect(300, "GET /x HT");
  good.send("Host: x\r\n\r\n");
  CHECK(parse_reply(good.receive_reply()).status == 200);
  others_connect(300, "");
  good.send("GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(parse_reply(good.receive_reply()).status == 200);
}

TEST_CASE("unread answers use a bounded amount of memory") {
  TestListenerOptions options = Server::options({"127.0.0.1:0"}, 60s);
  options.front.unsent = 32U << 20;
  RecordingLog log;
  EchoHandler handler;
  handler.body.assign(8U << 20, 'x');
  TestListener listener(options, handler, log);
  const std::uint16_t port = listener.port();
  std::vector<HttpConnection> slow;
  for (int i = 0; i < 12; ++i) {
    slow.emplace_back(port);
    slow.back().shrink_receive_buffer();
    slow.back().send("GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  CHECK(http_get(port, "/x").status == 200);
  int dropped = 0;
  for (HttpConnection& connection : slow) dropped += connection.receive(200ms).size() < (8U << 20);
  CHECK(dropped >= 1);
}

TEST_CASE("a client that closed its sending half still gets the answer") {
  Server server;
  HttpConnection connection(server.port());
  connection.send("GET /x HTTP/1.0\r\n\r\n");
  connection.half_close();
  CHECK(parse_reply(connection.receive()).status == 200);
}

TEST_CASE("a silent client loses its connection after the timeout and delays nobody") {
  Server server({"127.0.0.1:0"}, 300ms);
  std::vector<HttpConnection> idle;
  for (int i = 0; i < 6; ++i) idle.emplace_back(server.port());
  CHECK(http_get(server.port(), "/x").status == 200);
  for (HttpConnection& connection : idle) CHECK(connection.closed_within(5s));
}

TEST_CASE("a client that does not read, or disconnects midway, delays nobody") {
  Server server({"127.0.0.1:0"}, 3000ms);  // ten times that for a whole answer: plenty for 8 MiB on a slow machine
  // Less than FrontOptions::unsent in all, beyond which a connection is closed.
  server.handler.body.assign(8U << 20, 'x');
  std::vector<HttpConnection> slow;
  for (int i = 0; i < 6; ++i) {
    slow.emplace_back(server.port());
    slow.back().shrink_receive_buffer();
    slow.back().send("GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }
  HttpConnection gone(server.port());
  gone.send("GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  gone.reset();
  const HttpReply reply = http_get(server.port(), "/x");
  CHECK(reply.status == 200);
  CHECK(reply.body.size() > (8U << 20));
}

TEST_CASE("a request is notified when its client resets the connection; one that waits for a thread never runs") {
  Server server;
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  std::atomic<bool> over = false;
  server.handler.with_request = [&](const HttpRequest& request) {
    if (over) return;
    ++begun;
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (!request.gone().stop_requested() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(1ms);
    ended += request.gone().stop_requested() ? 1 : 0;
  };
  const auto until = std::chrono::steady_clock::now() + 60s;
  std::vector<HttpConnection> clients;
  for (int i = 0; i < 20; ++i) {  // there are 8 workers, and the front's own thread for a request that comes alone
    clients.emplace_back(server.port());
    clients.back().send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    while (begun == 0 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  }
  while (begun < 9 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  CHECK(begun == 9);
  for (std::size_t i = 9; i < clients.size(); ++i) clients[i].reset();
  for (int i = 0; i < 2; ++i) CHECK(server.listener.responds(60s));  // all resets were noticed
  for (std::size_t i = 0; i < 9; ++i) clients[i].reset();
  while (ended < begun && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  over = true;
  CHECK(http_get(server.port(), "/after").status == 200);
  CHECK(begun == 9);
  CHECK(ended == 9);
}

TEST_CASE("requests of disconnected clients leave the queue at once and take no room from others") {
  TestListenerOptions options = Server::options({"127.0.0.1:0"}, 60s);
  options.workers = 1;
  options.front.exchanges = 8;
  RecordingLog log;
  EchoHandler handler;
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0;
  bool over = false;
  std::atomic<int> handled = 0;
  handler.during = [&] {
    ++handled;
    std::unique_lock lock(mutex);
    ++inside;
    changed.notify_all();
    changed.wait(lock, [&] { return over; });
  };
  TestListener listener(options, handler, log);
  const std::uint16_t port = listener.port();
  const std::string request = "GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  std::vector<HttpConnection> busy;
  for (int i = 1; i <= 2; ++i) {  // the front's own thread takes the first one, the worker the second
    busy.emplace_back(port).send(request);
    std::unique_lock lock(mutex);
    REQUIRE(changed.wait_for(lock, 60s, [&] { return inside == i; }));
  }
  for (int round = 0; round < 5; ++round) {
    std::vector<HttpConnection> flood;
    for (int i = 0; i < 6; ++i) flood.emplace_back(port).send(request);
    for (int i = 0; i < 2; ++i) REQUIRE(listener.responds(60s));  // all of them are queued
    for (HttpConnection& connection : flood) connection.reset();
    for (int i = 0; i < 2; ++i) REQUIRE(listener.responds(60s));  // all of them have disconnected
  }
  HttpConnection good(port);
  good.send(request);
  for (int i = 0; i < 2; ++i) REQUIRE(listener.responds(60s));
  {
    const std::lock_guard lock(mutex);
    over = true;
  }
  changed.notify_all();
  CHECK(parse_reply(good.receive()).status == 200);
  for (HttpConnection& connection : busy) CHECK(parse_reply(connection.receive()).status == 200);
  CHECK(handled == 3);
}

TEST_CASE("it listens on several addresses, including IPv6 and UNIX sockets") {
  const std::string path = socket_path("sev:er,al");
  std::vector<std::string> addresses{"unix:" + path, "127.0.0.1:0", ":0"};
  if (host_has_ipv6()) addresses.emplace_back("[::1]:0");
  Server server(addresses);
  REQUIRE(server.listener.bound().size() == addresses.size());
  CHECK(server.listener.bound().front() == "unix:" + path);
  CHECK(http_get(server.port(1), "/x").status == 200);
  CHECK(http_get(server.port(2), "/x").status == 200);
  HttpConnection local(path);
  local.send("GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  CHECK(parse_reply(local.receive()).status == 200);
  if (host_has_ipv6()) {
    for (const std::size_t index : {std::size_t{2}, std::size_t{3}}) {
      HttpConnection v6(server.port(index), "::1");
      v6.send("GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
      CHECK(parse_reply(v6.receive()).status == 200);
    }
  }
  server.listener.stop(0ms);
  CHECK(::access(path.c_str(), F_OK) != 0);
}

TEST_CASE("[::] also accepts IPv4, unless another address covers it") {
  if (!host_has_ipv6()) return;
  {
    Server server({"[::]:0"});
    CHECK(http_get(server.port(), "/x").status == 200);
    HttpConnection v6(server.port(), "::1");
    v6.send("GET /x HTTP/1.0\r\n\r\n");
    CHECK(parse_reply(v6.receive()).status == 200);
  }
  std::uint16_t free_port = 0;
  { free_port = Server({":0"}).port(); }
  const std::string port = std::to_string(free_port);
  for (const char* first : {"0.0.0.0:", "[::]:"}) {
    const std::string second = first[0] == '0' ? "[::]:" : "0.0.0.0:";
    Server server({first + port, second + port});
    CHECK(server.listener.bound().size() == 2);
    CHECK(http_get(free_port, "/x").status == 200);
  }
}

TEST_CASE("a socket file left by an ended process is taken over; one in use, or another kind of file, is not") {
  const std::string path = socket_path("stale");
  {
    Server server({"unix:" + path});
    const TestListenerOptions same = Server::options({"unix:" + path}, 500ms);
    CHECK_THROWS_WITH_AS(TestListener(same, server.handler, server.log), doctest::Contains("Address already in use"),
                         std::runtime_error);
    CHECK(::link(path.c_str(), (path + "2").c_str()) == 0);
  }
  {
    Server server({"unix:" + path + "2"});  // nothing listens on the second name any more
    CHECK(server.listener.bound().size() == 1);
  }
  const std::string file = socket_path("file");
  std::fclose(std::fopen(file.c_str(), "w"));
  CHECK_THROWS_WITH_AS(Server({"unix:" + file}), doctest::Contains("is not a socket"), std::runtime_error);
  ::unlink(file.c_str());
}

TEST_CASE("an unavailable address is named, with the reason") {
  Server server;
  const std::string taken = server.listener.bound().front();
  CHECK_THROWS_WITH_AS(Server({taken}), ("cannot listen on " + taken + ": Address already in use").c_str(),
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(Server({"192.0.2.77:0"}), "cannot listen on 192.0.2.77:0: Cannot assign requested address",
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(Server({"[::zz]:0"}), doctest::Contains("cannot listen on [::zz]:0: "), std::runtime_error);
  CHECK_THROWS_WITH_AS(Server({"127.0.0.1:0", "unix:/no/such/folder/s"}),
                       "cannot listen on unix:/no/such/folder/s: No such file or directory", std::runtime_error);
}

TEST_CASE("a stop finishes the answers in progress, rejects later requests and is quick") {
  Server server;
  server.handler.body.assign(4U << 20, 'x');
  std::promise<void> started;
  server.handler.during = [&] {
    started.set_value();
    std::this_thread::sleep_for(200ms);
  };
  const std::uint16_t port = server.port();
  auto reply = std::async(std::launch::async, [&] { return http_get(port, "/x"); });
  started.get_future().wait();
  const auto start = std::chrono::steady_clock::now();
  server.listener.stop(60s);
  CHECK(std::chrono::steady_clock::now() - start < 30s);
  CHECK(reply.get().body.size() > (4U << 20));
  CHECK_THROWS_AS(HttpConnection{port}, std::system_error);
}

TEST_CASE("a watchdog learns whether connections are served") {
  Server server;
  CHECK(server.listener.responds(20s));
  CHECK(server.listener.responds(20s));
  server.listener.stop(0ms);
  CHECK_FALSE(server.listener.responds(10ms));
}

TEST_CASE("idle clients do not delay a stop") {
  Server server({"127.0.0.1:0"}, 2000ms);
  std::vector<HttpConnection> idle;
  for (int i = 0; i < 3; ++i) idle.emplace_back(server.port());
  CHECK(http_get(server.port(), "/x").status == 200);
  const auto start = std::chrono::steady_clock::now();
  server.listener.stop(60s);
  CHECK(std::chrono::steady_clock::now() - start < 30s);
}

TEST_CASE("repeated starts and stops leak no descriptor") {
  const auto count = [] {
    int open = 0;
    for (int fd = 0; fd < 256; ++fd) open += ::fcntl(fd, F_GETFD) >= 0;
    return open;
  };
  { Server warm_up; }
  const int before = count();
  for (int i = 0; i < 10; ++i) {
    Server server;
    CHECK(http_get(server.port(), "/x").status == 200);
  }
  CHECK(count() == before);
}

TEST_SUITE_END();
