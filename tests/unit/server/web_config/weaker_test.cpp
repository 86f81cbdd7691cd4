// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <set>
#include <sstream>
#include <stdexcept>

#include "server/web_config/config.h"

using namespace igpu::exporter;

namespace {

const std::string kHash = "$2y$10$wxGfzRFQYVOVQRqGQC3xLeGQCQ8p/vN0GxFmWwjy5pVjXJ4MAhzZ.";

WebConfig tls(const std::string& more) {
  return parse_web_config("tls_server_config: {cert_file: c, key_file: k" + (more.empty() ? "" : ", " + more) + "}\n",
                          "web.yml");
}

WebConfig headers(const std::string& list) {
  return parse_web_config("http_server_config: {headers: {" + list + "}}\n", "web.yml");
}

WebConfig whole(const std::string& text) { return parse_web_config(text, "web.yml"); }

// The keys that the parser knows in that section, as it lists them itself.
std::set<std::string> known_keys(const std::string& text) {
  std::string message;
  try {
    (void)whole(text);
  } catch (const std::runtime_error& error) {
    message = error.what();
  }
  const std::size_t begin = message.find("known keys: ");
  REQUIRE(begin != std::string::npos);
  std::set<std::string> keys;
  std::istringstream list(message.substr(begin + 12));
  for (std::string key; std::getline(list, key, ',');) keys.insert(key.substr(key.find_first_not_of(' ')));
  return keys;
}

struct Case {
  WebConfig before;
  WebConfig after;
  const char* weaker;  // keys
};

void check(const std::vector<Case>& cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    CHECK(weaker_keys(cases[i].before, cases[i].after) == cases[i].weaker);
    CHECK(weaker_keys(cases[i].before, cases[i].before) == "");
    CHECK(weaker_keys(cases[i].after, cases[i].after) == "");
  }
}

}  // namespace

TEST_SUITE_BEGIN("weaker");

TEST_CASE("every key of a file is compared by a test below, or cannot become weaker") {
  std::set<std::string> known;
  for (const char* text : {"tls_server_config: {x: 1}", "http_server_config: {x: 1}",
                           "http_server_config: {headers: {x: 1}}", "rate_limit: {x: 1}", "x: 1"}) {
    known.merge(known_keys(text));
  }
  for (const char* section : {"tls_server_config", "http_server_config", "headers", "rate_limit"})
    CHECK(known.erase(section) == 1);
  const std::set<std::string> compared = {"client_auth_type",
                                          "client_ca_file",
                                          "client_allowed_sans",
                                          "min_version",
                                          "max_version",
                                          "cipher_suites",
                                          "prefer_server_cipher_suites",
                                          "curve_preferences",
                                          "Strict-Transport-Security",
                                          "Content-Security-Policy",
                                          "X-Frame-Options",
                                          "X-Content-Type-Options",
                                          "X-XSS-Protection",
                                          "basic_auth_users",
                                          "interval",
                                          "burst"};
  const std::set<std::string> never_weaker = {"cert_file", "key_file", "cert", "key", "client_ca", "http2"};
  std::set<std::string> all = compared;
  all.insert(never_weaker.begin(), never_weaker.end());
  CHECK(known == all);
}

TEST_CASE("the server's identity can be replaced") {
  check({{tls(""), whole("tls_server_config: {cert: c, key: k}\n"), ""},
         {tls(""), whole("tls_server_config: {cert_file: other, key_file: another}\n"), ""}});
}

TEST_CASE("client authentication can be weakened by a restart only") {
  const std::string ca = "client_ca_file: ca.pem, client_auth_type: ";
  const std::string verify = ca + "RequireAndVerifyClientCert";
  check({
      {tls(verify), tls(ca + "VerifyClientCertIfGiven"), "client_auth_type"},
      {tls(verify), tls(ca + "RequireAnyClientCert"), "client_auth_type"},
      {tls(verify), tls(ca + "RequestClientCert"), "client_auth_type"},
      {tls(verify), tls(""), "client_auth_type, client_ca_file"},
      {tls(ca + "VerifyClientCertIfGiven"), tls(""), "client_auth_type, client_ca_file"},
      {tls(ca + "VerifyClientCertIfGiven"), tls(ca + "RequireAnyClientCert"), "client_auth_type"},
      {tls("client_auth_type: RequireAnyClientCert"), tls(ca + "VerifyClientCertIfGiven"), "client_auth_type"},
      {tls("client_auth_type: RequestClientCert"), tls(""), ""},
      {tls(""), tls(verify), ""},
      {tls("client_auth_type: RequireAnyClientCert"), tls(verify), ""},
      // The authority: another one, but neither none nor what a cut leaves of its name.
      {tls(verify), tls("client_auth_type: RequireAndVerifyClientCert"), "client_ca_file"},
      {tls(verify), tls("client_ca: PEM, client_auth_type: RequireAndVerifyClientCert"), ""},
      {tls("client_ca: PEM, client_auth_type: RequireAndVerifyClientCert"),
       tls("client_auth_type: RequireAndVerifyClientCert"), "client_ca_file"},
      {tls(verify), tls("client_ca_file: other.pem, client_auth_type: RequireAndVerifyClientCert"), ""},
      {tls(verify), tls("client_ca_file: ca, client_auth_type: RequireAndVerifyClientCert"), "client_ca_file"},
      {tls("client_auth_type: RequireAndVerifyClientCert"), tls(verify), ""},
      {tls(ca + "RequireAnyClientCert"), tls("client_auth_type: RequireAnyClientCert"), ""},  // nothing is verified
      // Names.
      {tls(verify + ", client_allowed_sans: [a.example]"), tls(verify), "client_allowed_sans"},
      {tls(verify + ", client_allowed_sans: [a.example]"), tls(verify + ", client_allowed_sans: [b.example]"), ""},
      {tls(verify + ", client_allowed_sans: [a.example, b.example]"),
       tls(verify + ", client_allowed_sans: [a.example]"), ""},
      {tls(verify + ", client_allowed_sans: [a.example]"), tls(verify + ", client_allowed_sans: [a.ex]"),
       "client_allowed_sans"},
      {tls(verify), tls(verify + ", client_allowed_sans: [a.example]"), ""},
  });
  // New names in a file whose last line has lost its end.
  const std::string start =
      "tls_server_config:\n  cert_file: c\n  key_file: k\n  client_auth_type: RequireAndVerifyClientCert\n";
  const WebConfig before = whole(start + "  client_ca_file: a.pem\n  client_allowed_sans:\n    - a\n");
  check(
      {{before, whole(start + "  client_ca_file: a.pem\n  client_allowed_sans:\n    - b.examp"), "client_allowed_sans"},
       {before, whole(start + "  client_ca_file: a.pem\n  client_allowed_sans:\n    - b.example\n"), ""},
       {before, whole(start + "  client_allowed_sans:\n    - a\n  client_ca_file: b.pe"), "client_ca_file"},
       {before, whole(start + "  client_allowed_sans:\n    - a\n  client_ca_file: b.pem\n"), ""},
       {whole(start + "  client_ca_file: a.pem\n  client_allowed_sans: [a]"),
        whole(start + "  client_ca_file: a.pem\n  client_allowed_sans: [b]"), ""}});
}

TEST_CASE("no protocol version, suite or curve that was rejected is accepted by a reload") {
  const std::string strong = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384";
  const std::string cbc = "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA";
  check({
      {tls("min_version: TLS13"), tls(""), "min_version"},
      {tls("min_version: TLS12"), tls("min_version: TLS11"), "min_version"},
      {tls("min_version: TLS12"), tls(""), ""},
      {tls("min_version: TLS10"), tls(""), ""},
      {tls(""), tls("min_version: TLS13"), ""},
      {tls("max_version: TLS13"), tls(""), ""},
      {tls("max_version: TLS12"), tls(""), "max_version"},
      {tls(""), tls("max_version: TLS12"), "max_version"},
      {tls("cipher_suites: [" + strong + "]"), tls(""), "cipher_suites"},
      {tls("cipher_suites: [" + strong + "]"), tls("cipher_suites: [" + strong + ", " + cbc + "]"), "cipher_suites"},
      {tls("cipher_suites: [" + strong + ", " + cbc + "]"), tls("cipher_suites: [" + strong + "]"), ""},
      {tls(""), tls("cipher_suites: [" + strong + "]"), ""},
      {tls(""), tls("cipher_suites: [" + cbc + "]"), "cipher_suites"},
      {tls("cipher_suites: [TLS_AES_128_GCM_SHA256]"), tls(""), "cipher_suites"},
      {tls("cipher_suites: [TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384, TLS_CHACHA20_POLY1305_SHA256]"), tls(""),
       "cipher_suites"},
      {tls("cipher_suites: [TLS_AES_128_GCM_SHA256, " + strong + "]"), tls("cipher_suites: [" + strong + "]"),
       "cipher_suites"},
      {tls(""), tls("cipher_suites: [TLS_AES_128_GCM_SHA256]"), ""},
      {tls(""), tls("prefer_server_cipher_suites: false"), "prefer_server_cipher_suites"},
      {tls("prefer_server_cipher_suites: false"), tls(""), ""},
      {tls("curve_preferences: [CurveP384]"), tls(""), "curve_preferences"},
      {tls("curve_preferences: [CurveP384]"), tls("curve_preferences: [CurveP256]"), "curve_preferences"},
      {tls(""), tls("curve_preferences: [CurveP384]"), ""},
  });
}

TEST_CASE("headers, users, limits") {
  const std::string hsts = "Strict-Transport-Security: ";
  check({
      {whole("http_server_config: {http2: false}\n"), whole(""), ""},
      {whole(""), whole("http_server_config: {http2: false}\n"), ""},
      {headers(hsts + "max-age=100"), headers(""), "Strict-Transport-Security"},
      {headers(hsts + "max-age=100"), headers(hsts + "max-age=10"), "Strict-Transport-Security"},
      {headers(hsts + "max-age=100"), headers(hsts + "nonsense"), "Strict-Transport-Security"},
      {headers(hsts + "max-age=10"), headers(hsts + "'Max-Age = \"100\"; preload'"), ""},
      {headers(hsts + "max-age=10"), headers(hsts + "max-age=99999999999999999999999"), ""},
      {headers(hsts + "max-age=100; includeSubDomains"), headers(hsts + "max-age=100"), "Strict-Transport-Security"},
      {headers(hsts + "max-age=100; preload"), headers(hsts + "max-age=200; includeSubDomains"),
       "Strict-Transport-Security"},
      {headers("Content-Security-Policy: default-src 'none'"), headers(""), "Content-Security-Policy"},
      {headers("Content-Security-Policy: default-src 'none'"), headers("Content-Security-Policy: default-src 'self'"),
       "Content-Security-Policy"},
      {headers(""), headers("Content-Security-Policy: default-src 'none'"), ""},
      {headers("X-Frame-Options: deny"), headers(""), "X-Frame-Options"},
      {headers("X-Frame-Options: deny"), headers("X-Frame-Options: sameorigin"), "X-Frame-Options"},
      {headers("X-Frame-Options: sameorigin"), headers("X-Frame-Options: deny"), ""},
      {headers("X-Content-Type-Options: nosniff"), headers(""), "X-Content-Type-Options"},
      {headers(""), headers("X-Content-Type-Options: nosniff"), ""},
      {headers("X-XSS-Protection: '0'"), headers(""), "X-XSS-Protection"},
      {headers("X-XSS-Protection: '0'"), headers("X-XSS-Protection: '1; mode=block'"), ""},
      {headers("X-XSS-Protection: '1; mode=block'"), headers("X-XSS-Protection: '1'"), "X-XSS-Protection"},
      {whole("basic_auth_users: {a: " + kHash + "}\n"), whole(""), "basic_auth_users"},
      {whole("basic_auth_users: {a: " + kHash + "}\n"), whole("basic_auth_users: {b: " + kHash + "}\n"), ""},
      {whole(""), whole("basic_auth_users: {b: " + kHash + "}\n"), ""},
      {whole("rate_limit: {interval: 1s, burst: 2}\n"), whole(""), "interval"},
      {whole("rate_limit: {interval: 1s, burst: 2}\n"), whole("rate_limit: {interval: 500ms, burst: 2}\n"), "interval"},
      {whole("rate_limit: {interval: 1s, burst: 2}\n"), whole("rate_limit: {interval: 1s, burst: 3}\n"), "burst"},
      {whole("rate_limit: {interval: 1s, burst: 2}\n"), whole("rate_limit: {interval: 2s, burst: 1}\n"), ""},
      {whole("rate_limit: {interval: 0s, burst: 2}\n"), whole(""), ""},
      {whole(""), whole("rate_limit: {interval: 1s, burst: 2}\n"), ""},
  });
}

TEST_SUITE_END();
