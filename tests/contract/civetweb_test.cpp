// SPDX-License-Identifier: Apache-2.0
//
// The CivetWeb this build links can do what the program promises: TLS with OpenSSL 3, IPv6, UNIX sockets. Debian's
// binary fails each of these, and the first one by crashing.
#include <civetweb.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "support/run_program.h"

namespace {

using igpu::test::run_program;

constexpr unsigned kWanted = MG_FEATURES_TLS | MG_FEATURES_IPV6 | MG_FEATURES_X_DOMAIN_SOCKET;

int answer(mg_connection* connection, void*) {
  mg_send_http_ok(connection, "text/plain", 3);
  mg_write(connection, "up\n", 3);
  return 200;
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "civetweb.XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

class Server {
 public:
  explicit Server(std::vector<const char*> options) {
    available_ = mg_init_library(kWanted);
    options.insert(options.end(), {"num_threads", "2", nullptr});
    context_ = mg_start(nullptr, nullptr, options.data());
    if (context_ != nullptr) mg_set_request_handler(context_, "/up$", answer, nullptr);
  }
  ~Server() {
    if (context_ != nullptr) mg_stop(context_);
    mg_exit_library();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  unsigned available() const { return available_; }
  bool running() const { return context_ != nullptr; }
  int port() const {
    mg_server_port port{};
    return mg_get_server_ports(context_, 1, &port) == 1 ? port.port : -1;
  }

 private:
  unsigned available_ = 0;
  mg_context* context_ = nullptr;
};

std::string get(const std::string& url, std::vector<std::string> options = {}) {
  std::vector<std::string> command{"curl", "--silent", "--show-error", "--max-time", "10", "--noproxy", "*"};
  command.insert(command.end(), options.begin(), options.end());
  command.push_back(url);
  return run_program(command).output;
}

}  // namespace

TEST_SUITE_BEGIN("civetweb");

TEST_CASE("CivetWeb initialises with TLS, IPv6 and UNIX sockets, and has no files, CGI or scripts in it") {
  // The answer of mg_init_library has the low eight bits only; UNIX sockets are above them.
  CHECK((mg_init_library(kWanted) & kWanted) == (MG_FEATURES_TLS | MG_FEATURES_IPV6));
  CHECK(mg_check_feature(MG_FEATURES_X_DOMAIN_SOCKET) == MG_FEATURES_X_DOMAIN_SOCKET);
  CHECK(mg_check_feature(MG_FEATURES_FILES) == 0);
  CHECK(mg_check_feature(MG_FEATURES_CGI) == 0);
  CHECK(mg_check_feature(MG_FEATURES_CACHE) == 0);
  CHECK(mg_check_feature(MG_FEATURES_WEBSOCKET) == 0);
  CHECK(mg_check_feature(MG_FEATURES_LUA) == 0);
  CHECK(mg_check_feature(MG_FEATURES_SSJS) == 0);
  mg_exit_library();
}

TEST_CASE("CivetWeb answers on IPv4 and on IPv6") {
  for (const char* address : {"127.0.0.1", "[::1]"}) {
    INFO(std::string(address));
    const std::string spec = std::string(address) + ":0";
    const Server server({"listening_ports", spec.c_str()});
    REQUIRE(server.running());
    CHECK(get("http://" + std::string(address) + ":" + std::to_string(server.port()) + "/up", {"--globoff"}) == "up\n");
  }
}

TEST_CASE("CivetWeb answers on a UNIX socket and removes it at the end") {
  const TemporaryFolder folder;
  const std::string path = folder / "gpu0s 1r.socket";  // CivetWeb took a digit before s or r for a TLS port
  const std::string spec = "x" + path + ",[::1]:0";     // a colon behind it made it a host name
  {
    const Server server({"listening_ports", spec.c_str()});
    REQUIRE(server.running());
    CHECK(get("http://localhost/up", {"--unix-socket", path}) == "up\n");
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("CivetWeb serves client after client over TLS") {
  const TemporaryFolder folder;
  const std::string certificate = folder / "server.pem";
  const std::string key = folder / "key.pem";
  const auto made = run_program({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                                 "-nodes", "-days", "1", "-subj", "/CN=localhost", "-addext",
                                 "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate});
  INFO(made.output);
  REQUIRE(made.status == 0);
  const auto joined =
      run_program({"sh", "-c", "cat '" + key + "' '" + certificate + "' > '" + (folder / "both.pem") + "'"});
  REQUIRE(joined.status == 0);

  const std::string both = folder / "both.pem";
  const Server server({"listening_ports", "127.0.0.1:0s", "ssl_certificate", both.c_str()});
  REQUIRE((server.available() & MG_FEATURES_TLS) != 0);
  REQUIRE(server.running());
  const std::string url = "https://127.0.0.1:" + std::to_string(server.port()) + "/up";
  for (int client = 0; client < 3; ++client) CHECK(get(url, {"--cacert", certificate}) == "up\n");
  CHECK(get(url, {"--cacert", certificate, "--tlsv1.3"}) == "up\n");
}

TEST_CASE("what the known holes of CivetWeb need is not in the program") {
  const std::string symbols = run_program({"nm", IGPU_EXPORTER_BINARY}).output;
  REQUIRE(symbols.find("mg_start2") != std::string::npos);
  for (const char* absent : {"mg_handle_form_request",    // CVE-2025-9648, CVE-2020-27304: form bodies and uploads
                             "mg_handle_form_data",       //
                             "handle_directory_request",  // CVE-2025-55763: redirect to a folder
                             "print_dir_entry", "mg_store_body", "put_dir", "handle_cgi_request"}) {
    CAPTURE(absent);
    CHECK(symbols.find(absent) == std::string::npos);
  }
}

TEST_SUITE_END();
