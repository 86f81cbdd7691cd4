// SPDX-License-Identifier: Apache-2.0
#include "server/web_config/config.h"

#include <doctest/doctest.h>

using namespace igpu;
using namespace igpu::exporter;

namespace {

constexpr const char* kHash = "$2b$10$abcdefghijklmnopqrstuuqflPDzB6gcMhKa1rZqKiun2YGL5sa2u";

WebConfig parse(const std::string& text) { return parse_web_config(text, "/etc/x/web.yml"); }

std::string refusal(const std::string& text) {
  try {
    (void)parse(text);
    return "";
  } catch (const std::runtime_error& error) {
    CHECK(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return error.what();
  }
}

TlsSettings tls(const std::string& more) {
  return parse("tls_server_config:\n  cert_file: c.pem\n  key_file: k.pem\n" + more).tls.value();
}

std::string tls_refusal(const std::string& more) {
  return refusal("tls_server_config:\n  cert_file: c.pem\n  key_file: k.pem\n" + more);
}

}  // namespace

TEST_SUITE_BEGIN("web_config");

TEST_CASE("an empty file enables neither TLS nor authentication") {
  for (const char* text : {"", "{}", "tls_server_config:\nbasic_auth_users:\n", "tls_server_config: {}\n"}) {
    CAPTURE(text);
    const WebConfig config = parse(text);
    CHECK_FALSE(config.tls);
    CHECK(config.users.empty());
    CHECK(config.headers.empty());
    CHECK(config.rate_limit == RateLimit{});
  }
}

TEST_CASE("the toolkit's defaults: TLS 1.2 and 1.3, the server's order, no client certificates") {
  const TlsSettings settings = tls("");
  CHECK(settings.min_version == TlsVersion::tls12);
  CHECK(settings.max_version == TlsVersion::tls13);
  CHECK(settings.prefer_server_ciphers);
  CHECK(settings.client_auth == ClientAuth::none);
  CHECK(settings.ciphers.empty());
}

TEST_CASE("paths are relative to the folder of the file") {
  CHECK(tls("").certificate.path == "/etc/x/c.pem");
  const WebConfig other = parse_web_config("tls_server_config: {cert_file: /a/c.pem, key_file: ../k.pem}", "web.yml");
  CHECK(other.tls->certificate.path == "/a/c.pem");
  CHECK(other.tls->private_key.path == "../k.pem");
}

TEST_CASE("certificates and keys can be inline") {
  const TlsSettings settings = *parse(
                                    "tls_server_config:\n  cert: |\n    CERT\n  key: |\n    KEY\n"
                                    "  client_ca: CA\n  client_auth_type: RequireAndVerifyClientCert\n")
                                    .tls;
  CHECK(settings.certificate.text == "CERT\n");
  CHECK(settings.private_key.text == "KEY\n");
  CHECK(settings.client_ca.text == "CA");
}

TEST_CASE("Go's names are translated to OpenSSL's") {
  const TlsSettings settings =
      tls("  min_version: TLS10\n  max_version: TLS12\n  prefer_server_cipher_suites: no\n"
          "  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, TLS_RSA_WITH_AES_128_CBC_SHA, "
          "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384]\n  curve_preferences: [CurveP384, X25519, CurveP384]\n");
  CHECK(settings.min_version == TlsVersion::tls10);
  CHECK(settings.max_version == TlsVersion::tls12);
  CHECK_FALSE(settings.prefer_server_ciphers);
  CHECK(settings.ciphers == std::vector<std::string>{"ECDHE-RSA-AES256-GCM-SHA384", "AES128-SHA"});
  CHECK(settings.groups == std::vector<std::string>{"P-384", "X25519"});
}

TEST_CASE("with suites of TLS 1.3 only, TLS 1.3 is the only version, as in Go") {
  CHECK(tls("  cipher_suites: [TLS_AES_128_GCM_SHA256]\n").min_version == TlsVersion::tls13);
  CHECK(
      tls_refusal("  cipher_suites: [TLS_AES_128_GCM_SHA256]\n  max_version: TLS12\n") ==
      "/etc/x/web.yml:4: tls_server_config: cipher_suites contains only suites of TLS 1.3, which max_version excludes");
}

TEST_CASE("client_auth_type: all five, and an older name") {
  const std::pair<const char*, ClientAuth> names[] = {{"NoClientCert", ClientAuth::none},
                                                      {"RequestClientCert", ClientAuth::request},
                                                      {"RequireAnyClientCert", ClientAuth::require_any},
                                                      {"RequireClientCert", ClientAuth::require_any},
                                                      {"VerifyClientCertIfGiven", ClientAuth::verify_if_given},
                                                      {"RequireAndVerifyClientCert", ClientAuth::require_and_verify}};
  for (const auto& entry : names) {
    CAPTURE(entry.first);
    CHECK(tls(std::string("  client_auth_type: ") + entry.first + "\n").client_auth == entry.second);
  }
  CHECK(tls_refusal("  client_auth_type: Maybe\n").find("must be one of NoClientCert, ") != std::string::npos);
}

TEST_CASE("a client CA or allowed names are rejected if no certificate is requested, as they would protect nothing") {
  CHECK(tls_refusal("  client_ca_file: ca.pem\n")
            .find(":4: tls_server_config: client_ca_file needs a client_auth_type") != std::string::npos);
  CHECK(tls_refusal("  client_allowed_sans: [a]\n").find("needs client_auth_type") != std::string::npos);
  CHECK(tls_refusal("  client_auth_type: VerifyClientCertIfGiven\n  client_allowed_sans: [a]\n") != "");
  CHECK(tls_refusal("  client_auth_type: RequireAndVerifyClientCert\n  client_allowed_sans: []\n").find("is empty") !=
        std::string::npos);
  CHECK(tls_refusal("  client_auth_type: RequireAndVerifyClientCert\n  client_allowed_sans:\n").find("is empty") !=
        std::string::npos);
  CHECK(tls("  client_auth_type: RequireAnyClientCert\n  client_allowed_sans: [a, b]\n").allowed_sans.size() == 2);
}

TEST_CASE("TLS settings without a certificate are rejected, as the server would use plain HTTP") {
  CHECK(refusal("tls_server_config: {min_version: TLS13}") ==
        "/etc/x/web.yml:1: tls_server_config: cert_file or cert is missing: there is no TLS without it");
  CHECK(refusal("tls_server_config: {cert_file: c}").find("key_file or key is missing") != std::string::npos);
  CHECK(refusal("tls_server_config: {key_file: c}").find("cert_file or cert is missing") != std::string::npos);
}

TEST_CASE("an invalid setting is rejected with file and line") {
  CHECK(refusal("tls_server_config:\n  cert_fil: x\n")
            .starts_with("/etc/x/web.yml:2: tls_server_config: unknown key \"cert_fil\"; known keys: cert_file, "));
  CHECK(refusal("foo: 1\n").starts_with("/etc/x/web.yml:1: unknown key \"foo\""));
  CHECK(refusal("- a\n").find("the file must be a mapping") != std::string::npos);
  CHECK(refusal("text\n").find("the file must be a mapping") != std::string::npos);
  CHECK(refusal("tls_server_config: x\n").find("tls_server_config must be a mapping") != std::string::npos);
  CHECK(tls_refusal("  cert: x\n").find("cert and cert_file exclude each other") != std::string::npos);
  CHECK(tls_refusal("  min_version: TLS14\n").find("must be one of TLS13, TLS12, TLS11, TLS10") != std::string::npos);
  CHECK(tls_refusal("  min_version: ''\n") != "");
  CHECK(tls_refusal("  min_version: TLS13\n  max_version: TLS12\n").find("leaves no version") != std::string::npos);
  CHECK(tls_refusal("  max_version: TLS11\n").find("leaves no version") != std::string::npos);
  CHECK(tls_refusal("  cipher_suites: [TLS_RSA_WITH_3DES_EDE_CBC_SHA]\n").find("unknown name") != std::string::npos);
  CHECK(tls_refusal("  cipher_suites: TLS_AES_128_GCM_SHA256\n").find("must be a list") != std::string::npos);
  CHECK(tls_refusal("  cipher_suites: [[x]]\n").find("must be text") != std::string::npos);
  CHECK(tls_refusal("  curve_preferences: [P-256]\n").find("known names: CurveP256") != std::string::npos);
  CHECK(tls_refusal("  prefer_server_cipher_suites: 1\n").find("true or false") != std::string::npos);
  CHECK(refusal("http_server_config: {http2: 'yes'}").find("true or false") != std::string::npos);
}

TEST_CASE("headers: five names, two of them with fixed values, one line each") {
  const WebConfig config = parse(
      "http_server_config:\n  http2: false\n  headers:\n    Strict-Transport-Security: max-age=1\n"
      "    X-Frame-Options: deny\n    Content-Security-Policy: |\n      default-src\n      'none'\n"
      "    X-XSS-Protection: ''\n");
  using Header = std::pair<std::string, std::string>;
  CHECK(config.headers == std::vector<Header>{{"Content-Security-Policy", "default-src 'none'"},
                                              {"X-Frame-Options", "deny"},
                                              {"Strict-Transport-Security", "max-age=1"}});
  CHECK(refusal("http_server_config: {headers: {Server: x}}").find("unknown key \"Server\"") != std::string::npos);
  CHECK(refusal("http_server_config: {headers: {x-frame-options: deny}}") != "");
  CHECK(refusal("http_server_config: {headers: {X-Frame-Options: allow}}").find("deny or sameorigin") !=
        std::string::npos);
  CHECK(refusal("http_server_config: {headers: {X-Content-Type-Options: no}}").find("nosniff") != std::string::npos);
  CHECK(refusal("http_server_config: {headers: {X-XSS-Protection: \"a\\x01b\"}}").find("control") != std::string::npos);
  CHECK(refusal("http_server_config: {headers: {X-XSS-Protection: \"a\\r\\nSet-Cookie: x\"}}") == "");
  CHECK(parse("http_server_config: {headers: {X-XSS-Protection: \"a\\r\\nSet-Cookie: x\"}}").headers.front().second ==
        "a  Set-Cookie: x");
}

TEST_CASE("users need bcrypt hashes; an error never quotes the invalid value") {
  CHECK(parse(std::string("basic_auth_users: {alice: ") + kHash + "}").users.at("alice") == kHash);
  const std::string plain = refusal("basic_auth_users:\n  alice: swordfish\n");
  CHECK(plain.find("/etc/x/web.yml:2: basic_auth_users: \"alice\" needs a bcrypt hash") == 0);
  CHECK(plain.find("swordfish") == std::string::npos);
  CHECK(refusal("basic_auth_users: {alice: }").find("needs a bcrypt hash") != std::string::npos);
  CHECK(refusal("basic_auth_users: {alice: [a]}").find("needs a bcrypt hash") != std::string::npos);
  CHECK(refusal("basic_auth_users: [a]").find("must be a mapping") != std::string::npos);
  CHECK(refusal(std::string("basic_auth_users: {'a:b': ") + kHash + "}").find("colon") != std::string::npos);
  CHECK(refusal(std::string("basic_auth_users: {a: ") + kHash + ", a: " + kHash + "}").find("twice") !=
        std::string::npos);
  std::string costly = kHash;
  costly.replace(4, 2, "31");
  CHECK(refusal("basic_auth_users: {a: " + costly + "}").find("cost above 18") != std::string::npos);
}

TEST_CASE("rate_limit: an interval with its unit and a burst") {
  const RateLimit limit = parse("rate_limit: {interval: 1m30s, burst: 5}").rate_limit;
  CHECK(limit.interval == std::chrono::seconds(90));
  CHECK(limit.burst == 5);
  CHECK(parse("rate_limit: {interval: 0, burst: 5}").rate_limit.interval == Nanoseconds::zero());
  CHECK(refusal("rate_limit: {interval: 5, burst: 5}").find("unit") != std::string::npos);
  CHECK(refusal("rate_limit: {interval: -1s, burst: 5}").find("duration") != std::string::npos);
  CHECK(refusal("rate_limit: {interval: 1s}").find("burst must be at least 1") != std::string::npos);
  for (const char* burst : {"x", "1.5", "-1", "'3'", "99999999999"}) {
    CAPTURE(burst);
    CHECK(refusal(std::string("rate_limit: {interval: 1s, burst: ") + burst + "}").find("whole number") !=
          std::string::npos);
  }
}

TEST_SUITE_END();
