// SPDX-License-Identifier: Apache-2.0
#include "server/push/address.h"

#include <doctest/doctest.h>
#include <net/if.h>

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>

#include "server/push/otlp.h"
#include "support/scratch_folder.h"

using namespace igpu::exporter;

namespace {

std::string refusal(const std::string& url) {
  try {
    (void)parse_otlp_address(url);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

PushRoute route(const std::string& url, const std::map<std::string, std::string>& environment) {
  return route_to(parse_otlp_address(url), [&](const char* name) {
    const auto at = environment.find(name);
    return at == environment.end() ? nullptr : at->second.c_str();
  });
}

std::string endpoint(const PushRoute& route) { return route.endpoint.host + " " + std::to_string(route.endpoint.port); }

}  // namespace

TEST_SUITE_BEGIN("push address");

TEST_CASE("a URL without a path gets that of OTLP, another path stays") {
  const PushAddress address = parse_otlp_address("https://otlp.example");
  CHECK(address.host == "otlp.example");
  CHECK(address.port == 443);
  CHECK(address.tls);
  CHECK(address.path == "/v1/metrics");
  CHECK(parse_otlp_address("http://h:4318/").path == "/v1/metrics");
  CHECK(parse_otlp_address("http://h:9090/api/v1/otlp/v1/metrics").path == "/api/v1/otlp/v1/metrics");
  CHECK(parse_otlp_address("HTTP://[::1]:4318").authority() == "[::1]:4318");
}

TEST_CASE("what is no URL of a receiver is refused with a reason, without a password in it") {
  CHECK(refusal("localhost:4318").find("http://") != std::string::npos);
  CHECK(refusal("mqtt://h").find("neither http nor https") != std::string::npos);
  CHECK(refusal("http://").find("names no host") != std::string::npos);
  CHECK(refusal("http://:80").find("names no host") != std::string::npos);
  CHECK(refusal("http://h:0").find("port") != std::string::npos);
  CHECK(refusal("http://h:65536").find("port") != std::string::npos);
  CHECK(refusal("http://h:").find("port") != std::string::npos);
  CHECK(refusal("http://::1").find("IPv6") != std::string::npos);
  CHECK(refusal("http://[::1").find("]") != std::string::npos);
  CHECK(refusal("http://[::1]x").find("port") != std::string::npos);
  CHECK(refusal("http://h/a?b").find("query") != std::string::npos);
  CHECK(refusal("http://h/a b").find("character") != std::string::npos);
  CHECK(refusal("http://h\r\nX: y").find("character") != std::string::npos);
  const std::string user = refusal("http://me:secret@h");
  CHECK(user.find("--push.otlp.credentials") != std::string::npos);
  CHECK(user.find("secret") == std::string::npos);
  CHECK(refusal("ftp://me:secret@h").find("secret") == std::string::npos);
}

TEST_CASE("without a proxy the receiver itself is connected") {
  const PushRoute direct = route("http://h:4318", {});
  CHECK(direct.proxy.empty());
  CHECK(endpoint(direct) == "h 4318");
  CHECK(endpoint(route("http://[::1]:4318", {})) == "::1 4318");
}

TEST_CASE("the environment's proxy is used by curl's rules") {
  const std::map<std::string, std::string> environment{{"http_proxy", "http://me:word@p:3128"}};
  const PushRoute through = route("http://h:4318", environment);
  CHECK(through.proxy == "http://p:3128");
  CHECK(through.proxy_with_user() == "http://me:word@p:3128");
  CHECK(route("http://h", {{"http_proxy", "p:3128"}}).proxy_with_user() == "http://p:3128");
  CHECK(endpoint(through) == "p 3128");
  CHECK(endpoint(route("https://h", {{"HTTPS_PROXY", "p"}})) == "p 1080");
  CHECK(endpoint(route("https://h", {{"ALL_PROXY", "socks5h://p"}})) == "p 1080");
  CHECK(endpoint(route("https://h", {{"https_proxy", "https://p"}})) == "p 443");
  CHECK(route("http://h", {{"HTTP_PROXY", "p"}}).proxy.empty());  // may come from a client of a CGI program
  CHECK(route("https://h", {{"http_proxy", "p"}}).proxy.empty());
  CHECK(route("https://h", {{"https_proxy", ""}}).proxy.empty());
  CHECK_THROWS_AS(route("http://h", {{"http_proxy", "socks4://p"}}), std::invalid_argument);
  CHECK_THROWS_AS(route("http://h", {{"http_proxy", "http://:1"}}), std::invalid_argument);
}

TEST_CASE("the zone of an address is an interface of this machine, by name or number") {
  const std::string lo = std::to_string(::if_nametoindex("lo"));
  REQUIRE(lo != "0");
  for (const std::string& zone : {std::string("lo"), std::string("25lo"), lo, "25" + lo}) {
    CAPTURE(zone);
    const PushAddress address = parse_otlp_address("http://[fe80::1%" + zone + "]:4318");
    CHECK(address.host == "fe80::1%25" + lo);
    CHECK(address.authority() == "[fe80::1%25" + lo + "]:4318");
    CHECK(is_address(address.host));
    CHECK(route("http://[fe80::1%" + zone + "]", {{"http_proxy", "p"}, {"no_proxy", "fe80::/10"}}).proxy.empty());
  }
  try {
    (void)parse_otlp_address("http://[fe80::1%absent0]:4318");
    FAIL("accepted");
  } catch (const std::invalid_argument& error) {
    CHECK(std::string(error.what()).find("names the network interface absent0, which is not there") !=
          std::string::npos);
  }
}

TEST_CASE("no_proxy has names, what ends in them, addresses and networks") {
  const auto passes = [](const std::string& host, const std::string& list) {
    return route("http://" + host, {{"http_proxy", "p"}, {"no_proxy", list}}).proxy.empty();
  };
  CHECK(passes("h", "*"));
  CHECK(passes("a.example", "b, A.example"));
  CHECK(passes("a.example", ".example"));
  CHECK(passes("a.example", "example"));
  CHECK_FALSE(passes("anexample", "example"));
  CHECK(passes("10.1.2.3", "10.0.0.0/8"));
  CHECK_FALSE(passes("11.1.2.3", "10.0.0.0/8"));
  CHECK(passes("10.1.2.3", "0.0.0.0/0"));
  CHECK_FALSE(passes("10.1.2.3", "10.0.0.0/99"));
  CHECK(passes("[fd00::1]", "fd00::/8"));
  CHECK_FALSE(passes("[fe80::1]", "fd00::/8"));
  CHECK_FALSE(passes("h", ",, ,"));
}

TEST_CASE("credentials that other users can read or change are refused, with the command that mends it") {
  const igpu::test::ScratchFolder folder;
  const std::string path = folder.write("token", "Authorization: Bearer x\n");
  const auto refused = [&path](unsigned mode) {
    std::filesystem::permissions(path, static_cast<std::filesystem::perms>(mode));
    try {
      (void)read_credentials(path);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string mend = " by every user of this machine: chmod o-rw " + path + " (a Secret of Kubernetes";
  CHECK(refused(0644).starts_with(path + " can be read" + mend));
  CHECK(refused(0606).starts_with(path + " can be read" + mend));
  CHECK(refused(0602).starts_with(path + " can be changed" + mend));
  CHECK(refused(0660).empty());
  CHECK(refused(0600).empty());
}

TEST_CASE("credentials are a user or headers") {
  const PushCredentials user = parse_credentials("\n# comment\nme:s:cret \n");
  CHECK(user.user == "me");
  CHECK(user.password == "s:cret");
  const PushCredentials headers = parse_credentials("Authorization: Bearer a:b\r\nX-Scope-OrgID: 7\n");
  CHECK(headers.headers == std::vector<std::string>{"Authorization: Bearer a:b", "X-Scope-OrgID: 7"});
  for (const char* wrong : {"", "\n#x\n", "secret", ":secret", "a:b\nc:d", "a:b\nX: y", "X: y\na:b",
                            "X: a\x01"
                            "b"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(parse_credentials(wrong), std::invalid_argument);
  }
}

TEST_SUITE_END();
