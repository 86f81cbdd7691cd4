// SPDX-License-Identifier: Apache-2.0
#include "server/web_config/guard.h"

#include <crypt.h>
#include <doctest/doctest.h>

#include "support/fake_http.h"

using namespace igpu::exporter;
using namespace igpu::test;

namespace {

class FixedConfig final : public WebConfigSource {
 public:
  explicit FixedConfig(const std::string& text) { set(text); }
  void set(const std::string& text) {
    auto loaded = std::make_shared<LoadedWebConfig>();
    loaded->config = parse_web_config(text, "web.yml");
    loaded_ = std::move(loaded);
  }
  std::shared_ptr<const LoadedWebConfig> current() override { return loaded_; }

 private:
  std::shared_ptr<const LoadedWebConfig> loaded_;
};

class Page final : public HttpHandler {
 public:
  int calls = 0;
  int last_answer = 0;
  void handle(const HttpRequest&, HttpResponse& response) override {
    ++calls;
    response.body = "page\n";
    response.headers.emplace_back("Content-Security-Policy", "the page's own");
  }
  void answered(int status) override { last_answer = status; }
};

std::string users() {
  crypt_data data{};
  return std::string("basic_auth_users: {alice: '") + ::crypt_r("secret", "$2b$04$abcdefghijklmnopqrstuu", &data) +
         "'}\n";
}

struct Site {
  FixedConfig config;
  Page page;
  Guard guard{config, page};
  explicit Site(const std::string& text) : config(text) {}

  HttpResponse get(const std::string& authorization = "", const std::string& path = "/metrics") {
    FakeRequest request;
    request.path_text = path;
    if (!authorization.empty()) request.headers["Authorization"] = authorization;
    HttpResponse response;
    guard.handle(request, response);
    return response;
  }
};

std::string header(const HttpResponse& response, std::string_view name) {
  std::string found;
  for (const auto& [key, value] : response.headers) {
    if (key == name) found += (found.empty() ? "" : ", ") + std::string(value);
  }
  return found;
}

}  // namespace

TEST_SUITE_BEGIN("guard");

TEST_CASE("an empty configuration accepts every request") {
  Site site("");
  CHECK(site.get().status == 200);
  CHECK(header(site.get(), "Content-Security-Policy") == "the page's own");
  site.guard.answered(404);
  CHECK(site.page.last_answer == 404);
}

TEST_CASE("with users, a request without a valid password gets 401 and a challenge") {
  Site site(users());
  for (const char* authorization : {"", "Basic YWxpY2U6d3Jvbmc=", "Basic Y2Fyb2w6c2VjcmV0", "Basic x", "Bearer x"}) {
    CAPTURE(authorization);
    const HttpResponse response = site.get(authorization);
    CHECK(response.status == 401);
    CHECK(header(response, "WWW-Authenticate") == R"(Basic realm="intel-gpu-exporter", charset="UTF-8")");
    CHECK(response.body.find("page") == std::string::npos);
  }
  CHECK(site.page.calls == 0);
  CHECK(site.get("Basic YWxpY2U6c2VjcmV0").body == "page\n");
}

TEST_CASE("every path requires the password, health and readiness too, as in the toolkit") {
  Site site(users());
  for (const char* path : {"/", "/metrics", "/-/healthy", "/-/ready", "/no/such/path"}) {
    CAPTURE(path);
    CHECK(site.get("", path).status == 401);
  }
}

TEST_CASE("a changed configuration applies to the next request") {
  Site site(users());
  CHECK(site.get("Basic YWxpY2U6c2VjcmV0").status == 200);
  site.config.set("basic_auth_users: {bob: '$2b$04$abcdefghijklmnopqrstuu0000000000000000000000000000000'}");
  CHECK(site.get("Basic YWxpY2U6c2VjcmV0").status == 401);
  site.config.set("");
  CHECK(site.get().status == 200);
}

TEST_CASE("configured headers are on every response and replace the page's own") {
  Site site(users() +
            "http_server_config: {headers: {Content-Security-Policy: ours, X-Frame-Options: deny, "
            "X-Content-Type-Options: nosniff}}\n");
  const HttpResponse refused = site.get();
  CHECK(header(refused, "Content-Security-Policy") == "ours");
  HttpResponse page = site.get("Basic YWxpY2U6c2VjcmV0");
  CHECK(header(page, "Content-Security-Policy") == "ours");
  CHECK(header(page, "X-Frame-Options") == "deny");
  CHECK(header(page, "X-Content-Type-Options") == "");  // the listener adds it to all responses
  // The response outlives a reload that happens before it has left.
  site.config.set("");
  CHECK(header(page, "X-Frame-Options") == "deny");
  page = {};
  CHECK(page.keeps_alive == nullptr);
}

TEST_CASE("the rate limit is applied first") {
  Site site(users() + "rate_limit: {interval: 1h, burst: 2}\n");
  CHECK(site.get().status == 401);
  CHECK(site.get("Basic YWxpY2U6c2VjcmV0").status == 200);
  CHECK(site.get("Basic YWxpY2U6c2VjcmV0").status == 429);
  CHECK(site.get().status == 429);
}

TEST_SUITE_END();
