// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <fstream>
#include <sstream>

#include "server/web_config/config.h"
#include "server/web_config/web_config_file.h"
#include "support/recording_log.h"
#include "support/test_authority.h"

using namespace igpu::exporter;
using namespace igpu::test;

namespace {

using Context = std::shared_ptr<SSL_CTX>;
using Connection = std::unique_ptr<SSL, decltype(&SSL_free)>;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

// Shared certificates; created once, then only read.
struct Files {
  ScratchFolder folder;
  TestAuthority authority{folder};
  TestAuthority other{folder, "other"};
  Files() {
    authority.issue({.name = "server"});
    authority.issue({.name = "rsa", .key_type = "rsa:2048"});
    authority.issue({.name = "client",
                     .sans = "DNS:prometheus.example,IP:192.0.2.7,IP:2001:db8::7,email:a@b.example,URI:spiffe://x/y"});
    authority.issue({.name = "nameless", .sans = ""});
    authority.issue({.name = "mail-only", .usage = "emailProtection"});
    other.issue({.name = "stranger", .sans = "DNS:prometheus.example"});
  }
  static const Files& get() {
    static const Files files;
    return files;
  }
  std::string path(const std::string& name) const { return folder.path(name); }
};

TlsMaterial material(const std::string& certificate = "server.pem", const std::string& key = "server.key",
                     const std::string& ca = "ca.pem") {
  TlsMaterial out;
  out.certificate = content(Files::get().path(certificate));
  out.private_key = content(Files::get().path(key));
  out.client_ca = content(Files::get().path(ca));
  return out;
}

TlsSettings settings(const std::string& more) {
  return parse_web_config("tls_server_config:\n  cert_file: c\n  key_file: k\n" + more, "web.yml").tls.value();
}

Context server(const std::string& more, const std::string& name = "server") {
  return make_tls_context(settings(more), material(name + ".pem", name + ".key"), "web.yml").context;
}

std::string refusal(const std::string& more, const TlsMaterial& given) {
  try {
    (void)make_tls_context(settings(more), given, "web.yml");
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

struct Client {
  std::string certificate;  // name of a file without .pem; "": none
  int min = TLS1_2_VERSION;
  int max = TLS1_3_VERSION;
  std::string ciphers{};
  std::string groups{};
  std::string protocols{};  // of ALPN, in its format
};

struct Outcome {
  bool done = false;
  std::string version, cipher, group, protocol;
  bool resumable = false;
};

// A whole handshake in memory, and a byte each way: in TLS 1.3 a client notices only then that it was rejected.
Outcome handshake(const Context& context, const Client& client) {
  const Context client_context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_security_level(client_context.get(), 0);
  SSL_CTX_set_min_proto_version(client_context.get(), client.min);
  SSL_CTX_set_max_proto_version(client_context.get(), client.max);
  SSL_CTX_load_verify_locations(client_context.get(), Files::get().path("ca.pem").c_str(), nullptr);
  SSL_CTX_set_verify(client_context.get(), SSL_VERIFY_PEER, nullptr);
  if (!client.ciphers.empty()) {
    REQUIRE((SSL_CTX_set_cipher_list(client_context.get(), client.ciphers.c_str()) == 1 ||
             SSL_CTX_set_ciphersuites(client_context.get(), client.ciphers.c_str()) == 1));
  }
  if (!client.groups.empty()) SSL_CTX_set1_groups_list(client_context.get(), client.groups.c_str());
  if (!client.certificate.empty()) {
    const std::string path = Files::get().path(client.certificate);
    REQUIRE(SSL_CTX_use_certificate_file(client_context.get(), (path + ".pem").c_str(), SSL_FILETYPE_PEM) == 1);
    REQUIRE(SSL_CTX_use_PrivateKey_file(client_context.get(), (path + ".key").c_str(), SSL_FILETYPE_PEM) == 1);
  }
  const Connection ours(SSL_new(context.get()), SSL_free);
  const Connection theirs(SSL_new(client_context.get()), SSL_free);
  SSL_set_accept_state(ours.get());
  SSL_set_connect_state(theirs.get());
  if (!client.protocols.empty()) {
    SSL_set_alpn_protos(theirs.get(), reinterpret_cast<const unsigned char*>(client.protocols.data()),
                        static_cast<unsigned>(client.protocols.size()));
  }
  BIO* one = nullptr;
  BIO* two = nullptr;
  REQUIRE(BIO_new_bio_pair(&one, 0, &two, 0) == 1);
  SSL_set_bio(ours.get(), one, one);
  SSL_set_bio(theirs.get(), two, two);
  char byte = 'x';
  bool sent = false;
  bool received = false;
  bool answered = false;
  for (int i = 0; i < 50 && !answered; ++i) {
    ERR_clear_error();
    if (!sent) {
      sent = SSL_write(theirs.get(), &byte, 1) == 1;
    } else if (received) {
      answered = SSL_read(theirs.get(), &byte, 1) == 1;
    }
    if (!received) received = SSL_read(ours.get(), &byte, 1) == 1 && SSL_write(ours.get(), &byte, 1) == 1;
  }
  ERR_clear_error();
  Outcome outcome;
  outcome.done = answered;
  if (!answered) return outcome;
  outcome.version = SSL_get_version(theirs.get());
  outcome.cipher = SSL_get_cipher(theirs.get());
  outcome.group = OBJ_nid2sn(static_cast<int>(SSL_get_shared_group(ours.get(), 0)));
  const unsigned char* protocol = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(theirs.get(), &protocol, &size);
  outcome.protocol.assign(reinterpret_cast<const char*>(protocol), size);
  outcome.resumable = SSL_SESSION_is_resumable(SSL_get0_session(theirs.get())) == 1 &&
                      SSL_SESSION_has_ticket(SSL_get0_session(theirs.get())) == 1;
  return outcome;
}

bool let_in(const Context& context, const std::string& certificate) {
  const bool tls13 = handshake(context, {.certificate = certificate}).done;
  const bool tls12 = handshake(context, {.certificate = certificate, .max = TLS1_2_VERSION}).done;
  CHECK(tls12 == tls13);
  return tls13;
}

}  // namespace

TEST_SUITE_BEGIN("tls_context");

TEST_CASE("by default TLS 1.2 and 1.3 are offered, and no session is resumed") {
  const Context context = server("");
  const Outcome newest = handshake(context, {});
  CHECK(newest.done);
  CHECK(newest.version == "TLSv1.3");
  CHECK_FALSE(newest.resumable);
  const Outcome older = handshake(context, {.max = TLS1_2_VERSION});
  CHECK(older.version == "TLSv1.2");
  CHECK_FALSE(older.resumable);
  CHECK_FALSE(handshake(context, {.min = TLS1_VERSION, .max = TLS1_1_VERSION}).done);
}

TEST_CASE("min_version and max_version") {
  CHECK_FALSE(handshake(server("  min_version: TLS13\n"), {.max = TLS1_2_VERSION}).done);
  CHECK(handshake(server("  max_version: TLS12\n"), {}).version == "TLSv1.2");
  const Context old = server("  min_version: TLS10\n");
  CHECK(handshake(old, {.min = TLS1_VERSION, .max = TLS1_VERSION}).version == "TLSv1");
  CHECK(handshake(old, {.min = TLS1_VERSION, .max = TLS1_1_VERSION}).version == "TLSv1.1");
  CHECK_FALSE(handshake(server("  min_version: TLS11\n"), {.min = TLS1_VERSION, .max = TLS1_VERSION}).done);
}

TEST_CASE("cipher_suites: the listed ones, in the server's or the client's order") {
  const std::string two =
      "  max_version: TLS12\n  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, "
      "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]\n";
  const Client client{.ciphers = "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384"};
  CHECK(handshake(server(two, "rsa"), client).cipher == "ECDHE-RSA-AES256-GCM-SHA384");
  CHECK(handshake(server(two + "  prefer_server_cipher_suites: false\n", "rsa"), client).cipher ==
        "ECDHE-RSA-AES128-GCM-SHA256");
  CHECK_FALSE(handshake(server(two, "rsa"), {.ciphers = "ECDHE-RSA-CHACHA20-POLY1305"}).done);
  CHECK(handshake(server("  max_version: TLS12\n  cipher_suites: [TLS_RSA_WITH_AES_128_CBC_SHA]\n", "rsa"),
                  {.ciphers = "AES128-SHA"})
            .done);
}

TEST_CASE("every suite that a file can list can be negotiated") {
  for (const char* name : {"server", "rsa"}) {
    for (const char* suite :
         {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
          "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
          "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
          "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
          "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "TLS_RSA_WITH_AES_128_GCM_SHA256",
          "TLS_RSA_WITH_AES_256_GCM_SHA384", "TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_RSA_WITH_AES_256_CBC_SHA"}) {
      CAPTURE(suite);
      const bool for_this_key =
          (std::string_view(suite).find("_ECDSA_") != std::string_view::npos) == (std::string_view(name) == "server");
      const Context context = server(std::string("  max_version: TLS12\n  cipher_suites: [") + suite + "]\n", name);
      CHECK(handshake(context, {.ciphers = "ALL"}).done == for_this_key);
    }
  }
}

TEST_CASE("listed suites of TLS 1.3 are the only ones of that version") {
  const Context context =
      server("  cipher_suites: [TLS_AES_256_GCM_SHA384, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]\n");
  CHECK(handshake(context, {}).cipher == "TLS_AES_256_GCM_SHA384");
  CHECK(handshake(context, {.max = TLS1_2_VERSION}).done);
}

TEST_CASE("curve_preferences") {
  const Context context = server("  curve_preferences: [CurveP384]\n");
  CHECK(handshake(context, {}).group == "secp384r1");
  CHECK_FALSE(handshake(context, {.groups = "X25519"}).done);
  CHECK(handshake(server(""), {.groups = "X25519"}).group == "X25519");
}

TEST_CASE("NoClientCert requests and checks nothing") {
  CHECK(let_in(server(""), ""));
  CHECK(let_in(server(""), "stranger"));
}

TEST_CASE("RequestClientCert accepts any certificate, or none") {
  const Context context = server("  client_auth_type: RequestClientCert\n");
  for (const char* certificate : {"", "client", "stranger"}) CHECK(let_in(context, certificate));
}

TEST_CASE("RequireAnyClientCert requires a certificate and accepts any") {
  const Context context = server("  client_auth_type: RequireAnyClientCert\n");
  CHECK_FALSE(let_in(context, ""));
  CHECK(let_in(context, "client"));
  CHECK(let_in(context, "stranger"));
}

TEST_CASE("VerifyClientCertIfGiven accepts no certificate, or one that the CA signed") {
  const Context context = server("  client_auth_type: VerifyClientCertIfGiven\n  client_ca_file: ca.pem\n");
  CHECK(let_in(context, ""));
  CHECK(let_in(context, "client"));
  CHECK_FALSE(let_in(context, "stranger"));
}

TEST_CASE("RequireAndVerifyClientCert accepts only certificates that the CA signed for clients") {
  const Context context = server("  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n");
  CHECK_FALSE(let_in(context, ""));
  CHECK(let_in(context, "client"));
  CHECK(let_in(context, "nameless"));
  CHECK_FALSE(let_in(context, "stranger"));
  CHECK_FALSE(let_in(context, "mail-only"));
}

TEST_CASE("without a client CA the system's authorities are used, with a warning") {
  const std::string policy = "  client_auth_type: RequireAndVerifyClientCert\n";
  ::setenv("SSL_CERT_FILE", Files::get().path("other.pem").c_str(), 1);
  const TlsContext made = make_tls_context(settings(policy), material(), "web.yml");
  CHECK(let_in(made.context, "stranger"));
  CHECK_FALSE(let_in(made.context, "client"));
  REQUIRE(made.warnings.size() == 1);
  CHECK(made.warnings.front().message.find("without client_ca_file") != std::string::npos);
  ::setenv("SSL_CERT_FILE", "/no/such/file", 1);
  CHECK(refusal(policy, material()).find("set client_ca_file, or install ca-certificates") != std::string::npos);
  ::unsetenv("SSL_CERT_FILE");
}

TEST_CASE("client_allowed_sans: one name must match exactly; DNS, IP, e-mail and URI names count") {
  const auto with = [](const std::string& sans) {
    return server(
        "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n  client_allowed_sans: ['" + sans +
        "']\n");
  };
  for (const char* name : {"prometheus.example", "192.0.2.7", "2001:db8::7", "a@b.example", "spiffe://x/y"}) {
    CAPTURE(name);
    CHECK(let_in(with(name), "client"));
    CHECK_FALSE(let_in(with(name), "nameless"));
    CHECK_FALSE(let_in(with(name), "stranger"));
    CHECK_FALSE(let_in(with(name), ""));
  }
  for (const char* name : {"Prometheus.example", "prometheus.exampl", "*.example", "example", "client", "192.0.2.70"}) {
    CAPTURE(name);
    CHECK_FALSE(let_in(with(name), "client"));
  }
  // Without a check of who signed, the name alone decides.
  const Context any = server("  client_auth_type: RequireAnyClientCert\n  client_allowed_sans: [prometheus.example]\n");
  CHECK(let_in(any, "stranger"));
  CHECK_FALSE(let_in(any, "nameless"));
}

TEST_CASE("http/1.1 is negotiated; a client without a common protocol is rejected in the handshake") {
  const Context context = server("");
  CHECK(handshake(context, {.protocols = "\x02h2\x08http/1.1"}).protocol == "http/1.1");
  CHECK(handshake(context, {}).protocol == "");
  CHECK_FALSE(handshake(context, {.protocols = "\x02h2"}).done);
}

TEST_CASE("connections keep their policy after the owner has released the context") {
  Context context =
      server("  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n  client_allowed_sans: [x]\n");
  const Connection connection(SSL_new(context.get()), SSL_free);
  context.reset();
  CHECK(SSL_get_verify_mode(connection.get()) == (SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT));
}

TEST_CASE("the whole chain is sent") {
  TlsMaterial chain = material();
  chain.certificate += content(Files::get().path("ca.pem"));
  const TlsContext made = make_tls_context(settings(""), chain, "web.yml");
  STACK_OF(X509)* sent = nullptr;
  REQUIRE(SSL_CTX_get0_chain_certs(made.context.get(), &sent) == 1);
  CHECK(sk_X509_num(sent) == 1);
}

TEST_CASE("an unusable file is rejected with file, line and hint; no part of a key is shown") {
  CHECK(refusal("", material("server.pem", "client.key")) ==
        "web.yml:3: key_file k does not belong to the first certificate of cert_file c: use the key of "
        "that certificate; the server's own certificate comes first");
  CHECK(refusal("", material("server.key", "server.key"))
            .starts_with("web.yml:2: cert_file c contains no certificate (PEM"));
  CHECK(refusal("", material("server.pem", "server.pem"))
            .starts_with("web.yml:3: key_file k contains no private key (PEM"));
  TlsMaterial broken = material();
  broken.certificate.replace(100, 20, "AAAAAAAAAAAAAAAAAAAA");
  CHECK(refusal("", broken).find("certificate 1 cannot be read") != std::string::npos);
  broken = material();
  broken.certificate.resize(200);
  CHECK(refusal("", broken).find("web.yml:2: cert_file c") == 0);
  CHECK(refusal("  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n",
                material("server.pem", "server.key", "server.key"))
            .starts_with("web.yml:5: client_ca_file ca.pem contains no certificate"));

  const ScratchFolder folder;
  openssl(
      {"pkey", "-in", Files::get().path("server.key"), "-aes256", "-passout", "pass:x", "-out", folder.path("e.key")});
  TlsMaterial encrypted = material();
  encrypted.private_key = content(folder.path("e.key"));
  CHECK(refusal("", encrypted).find("key_file k is encrypted") != std::string::npos);

  Files::get().authority.issue({.name = "weak", .key_type = "rsa:1024"});
  CHECK(refusal("", material("weak.pem", "weak.key")).find("RSA needs 2048 bits") != std::string::npos);
}

TEST_CASE("an expired certificate is used, with a warning") {
  const auto read = [](const std::string& pem) {
    return std::unique_ptr<BIO, decltype(&BIO_free)>(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                                     BIO_free);
  };
  TlsMaterial expired = material();
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      PEM_read_bio_X509(read(expired.certificate).get(), nullptr, nullptr, nullptr), X509_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(read(expired.private_key).get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  REQUIRE(certificate);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), -1000);
  REQUIRE(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_X509(out.get(), certificate.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  expired.certificate.assign(data, static_cast<std::size_t>(size));
  const TlsContext made = make_tls_context(settings(""), expired, "web.yml");
  REQUIRE(made.warnings.size() == 1);
  CHECK(made.warnings.front().message.find("has expired") != std::string::npos);
}

TEST_CASE("a file truncated at any byte accepts no client that was rejected before") {
  const Files& files = Files::get();
  // An authority that the machine trusts has signed the stranger's certificate.
  const char* const earlier = std::getenv("SSL_CERT_FILE");
  const std::string kept = earlier == nullptr ? "" : earlier;
  ::setenv("SSL_CERT_FILE", files.path("other.pem").c_str(), 1);
  const std::string hash = "$2y$10$wxGfzRFQYVOVQRqGQC3xLeGQCQ8p/vN0GxFmWwjy5pVjXJ4MAhzZ.";
  const std::string begin = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n";
  const std::string limit = "rate_limit:\n  interval: 1m30s\n  burst: 20\n";
  const std::string users = "basic_auth_users:\n  alice: " + hash + "\n  bob: " + hash + "\n";
  const std::string headers =
      "http_server_config:\n  http2: false\n  headers:\n    Strict-Transport-Security: max-age=3000; "
      "includeSubDomains\n"
      "    Content-Security-Policy: default-src 'none'\n    X-Frame-Options: deny\n    X-Content-Type-Options: "
      "nosniff\n"
      "    X-XSS-Protection: 1; mode=block\n";
  const std::string suites =
      "  min_version: TLS13\n  max_version: TLS13\n  cipher_suites: [TLS_AES_256_GCM_SHA384]\n  "
      "prefer_server_cipher_suites: true\n"
      "  curve_preferences: [CurveP384]\n";
  const std::string old_suites =
      "  max_version: TLS12\n  cipher_suites:\n    - TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384\n    - "
      "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA\n"
      "  curve_preferences:\n    - CurveP384\n    - CurveP256\n";
  const std::string names = "  client_allowed_sans:\n    - prometheus.example.org\n    - prometheus.example.net\n";
  const std::string verify = "  client_auth_type: RequireAndVerifyClientCert\n";
  const std::string ca = "  client_ca_file: ca.pem.link\n";
  const std::vector<std::string> wholes{
      begin + verify + ca + names + suites + headers + users + limit,
      users + limit + headers + begin + suites + verify + ca,
      begin + ca + old_suites + names + verify,
      limit + begin + old_suites + ca + "  client_auth_type: VerifyClientCertIfGiven\n" + users,
      begin + verify + ca + names.substr(0, names.size() - 1),  // no line break at the end
  };
  const ScratchFolder folder;
  for (const char* name : {"server.pem", "server.key"}) folder.write(name, content(files.path(name)));
  folder.write("ca.pem.link", content(files.path("ca.pem")));
  folder.write("ca.pem", content(files.path("other.pem")));  // what a cut leaves of the name is there, too
  std::vector<Client> clients;
  for (const char* certificate : {"", "client", "nameless", "stranger"}) {
    for (const char* group : {"P-256", "P-384"}) {
      clients.push_back({.certificate = certificate,
                         .max = TLS1_2_VERSION,
                         .ciphers = "ECDHE-ECDSA-AES256-GCM-SHA384",
                         .groups = group});
      clients.push_back({.certificate = certificate,
                         .max = TLS1_2_VERSION,
                         .ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256",
                         .groups = group});
      clients.push_back(
          {.certificate = certificate, .min = TLS1_3_VERSION, .ciphers = "TLS_AES_128_GCM_SHA256", .groups = group});
      clients.push_back(
          {.certificate = certificate, .min = TLS1_3_VERSION, .ciphers = "TLS_AES_256_GCM_SHA384", .groups = group});
    }
  }
  const auto let_in = [&](const Context& context) {
    std::vector<bool> done;
    for (const Client& client : clients) done.push_back(handshake(context, client).done);
    return done;
  };
  for (const std::string& whole : wholes) {
    CAPTURE(whole);
    RecordingLog log;
    WebConfigFile file(folder.write("web.yml", whole), log);
    const auto context_of = [&](const std::string& text) {
      folder.write("web.yml", text);
      file.reload_if_changed();
      return file.loaded();
    };
    const auto start = file.loaded();
    const std::vector<bool> admitted = let_in(start->tls);
    auto state = start;
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const auto next = context_of(whole.substr(0, size));
      if (next == state) continue;
      state = next;
      CAPTURE(whole.substr(0, size));
      const std::vector<bool> after = let_in(state->tls);
      for (std::size_t i = 0; i < clients.size(); ++i) {
        CAPTURE(clients[i].certificate);
        CHECK((admitted[i] || !after[i]));
      }
      CHECK(state->config.users.empty() == start->config.users.empty());
      for (const auto& [user, stored] : state->config.users) CHECK(start->config.users.contains(user));
      CHECK(state->config.rate_limit.interval >= start->config.rate_limit.interval);
      CHECK(state->config.headers.size() >= start->config.headers.size());
    }
    CHECK(log.count(igpu::LogLevel::error) > 0);
  }
  if (earlier == nullptr) {
    ::unsetenv("SSL_CERT_FILE");
  } else {
    ::setenv("SSL_CERT_FILE", kept.c_str(), 1);
  }
}

TEST_SUITE_END();
