// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <stdexcept>

#include "server/http/addresses.h"
#include "support/fake_http.h"

using namespace igpu::exporter;
using igpu::test::FakeRequest;

namespace {

using Headers = std::map<std::string, std::string>;

const Headers kBrowser{{"User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}};

struct Answering final : HttpHandler {
  void handle(const HttpRequest&, HttpResponse& response) override { response.body = "metrics\n"; }
  void answered(int status) override { last = status; }
  int last = 0;
};

struct Server {
  std::vector<std::string> allowed{"gpu.example.org"};
  std::string machine = "box.lan";
  bool clients_are_known = false;

  HttpResponse get(const std::string& host, Headers headers = kBrowser) const {
    Answering next;
    HostCheck check(next, allowed, machine, [this] { return clients_are_known; });
    FakeRequest request;
    request.headers = std::move(headers);
    request.headers["Host"] = host;
    HttpResponse response;
    check.handle(request, response);
    check.answered(response.status);
    CHECK(next.last == response.status);
    return response;
  }
};

}  // namespace

TEST_SUITE_BEGIN("host_check");

TEST_CASE("a web page that points its own name at this machine reads nothing; the answer names the flag") {
  const HttpResponse refused = Server().get("rebound.evil.example:10068");
  CHECK(refused.status == 421);
  CHECK(refused.body.find("--web.allowed-host") != std::string::npos);
  CHECK(refused.body.find("metrics") == std::string::npos);
}

TEST_CASE("each sign of a browser is enough: a script can replace or empty some of them") {
  const Server server;
  for (const Headers& headers : std::vector<Headers>{{{"Sec-Fetch-Site", "same-origin"}},
                                                     {{"Origin", "null"}},
                                                     {{"Origin", ""}},
                                                     {{"User-Agent", "Mozilla/4.0"}},
                                                     {{"User-Agent", "curl/8.5.0"}, {"Accept-Language", "en"}},
                                                     {{"User-Agent", "curl/8.5.0"}, {"Accept-Language", ""}}}) {
    CAPTURE(headers.begin()->first);
    CHECK(server.get("rebound.example", headers).status == 421);
    CHECK(server.get("127.0.0.1:10068", headers).status == 200);
  }
}

TEST_CASE("scrapers, probes and scripts use any name") {
  const Server server;
  for (const char* agent : {"Prometheus/3.5.0", "curl/8.5.0", "Telegraf/1.34.0 Go/1.24.1", "kube-probe/1.33",
                            "Grafana Alloy/1.9", "vm_promscrape", "Python-urllib/3.13", ""}) {
    CAPTURE(agent);
    const Headers headers{{"User-Agent", agent}, {"Accept", "text/plain;version=0.0.4"}, {"Accept-Encoding", "gzip"}};
    for (const char* host : {"exporter:10068", "intel-gpu-exporter.monitoring.svc.cluster.local:10068",
                             "gpu-7.example.net", "10.0.0.7:10068", ""}) {
      CAPTURE(host);
      CHECK(server.get(host, headers).status == 200);
    }
  }
}

TEST_CASE("browsers use addresses, localhost, this machine's name and allowed names") {
  const Server server;
  for (const char* host : {"127.0.0.1", "192.168.1.7:10068", "[::1]:10068", "[fd00::7]", "[::ffff:10.0.0.1]:1",
                           "localhost", "LOCALHOST:10068", "localhost.", "box", "Box:10068", "box.lan", "box.local.:1",
                           "gpu.example.org", "GPU.example.org:443", "gpu.example.org."}) {
    CAPTURE(host);
    CHECK(server.get(host).status == 200);
  }
  for (const char* host : {"",
                           ":10068",
                           ".",
                           "127.0.0.1.evil.example",
                           "127.1",
                           "0x7f.1",
                           "1.2.3",
                           "2130706433",
                           "localhost.evil.example",
                           "evil.localhost.example",
                           "boxx",
                           "evil.box",
                           "example.org",
                           "x.gpu.example.org",
                           "gpu.example.org.evil.example",
                           "gpu",
                           "[",
                           "[]",
                           "[::1",
                           "[evil]",
                           "[::1].evil.example",
                           "[127.0.0.1]",
                           "127.0.0.1%2eevil"}) {
    CAPTURE(host);
    CHECK(server.get(host).status == 421);
  }
}

TEST_CASE("a machine whose name tells nothing allows no names by it") {
  Server server;
  for (const char* name : {"", "localhost", "localhost.localdomain", "LocalHost"}) {
    server.machine = name;
    CAPTURE(name);
    CHECK(server.get("localhost").status == 200);
    for (const char* host : {"localhost.evil.example", ".evil.example", ""}) CHECK(server.get(host).status == 421);
  }
}

TEST_CASE("whoever must authenticate uses any name: a browser has no password for a strange one") {
  Server server;
  server.clients_are_known = true;
  CHECK(server.get("rebound.evil.example").status == 200);
}

TEST_CASE("allowed names are checked at the start") {
  for (const char* name : {"gpu", "gpu.example.org", "a_b-c.example"}) CHECK_NOTHROW(check_allowed_host(name));
  for (const char* name :
       {"", ".", "gpu.", "gpu:10068", "https://gpu", "*.example.org", "gpu example", "gp\xc3\xbc", "a/b"})
    CHECK_THROWS_AS(check_allowed_host(name), std::invalid_argument);
}

TEST_SUITE_END();
