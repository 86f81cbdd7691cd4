// SPDX-License-Identifier: Apache-2.0
// The health check that container engines run: the same program, the same flags, exit status 0 or 1.
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "support/exporter_process.h"
#include "support/machine_tree.h"
#include "support/paths.h"
#include "support/run_program.h"

using namespace igpu::test;

namespace {

ProgramOutcome healthcheck(const std::string& address, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{exporter_binary(), "healthcheck", "--web.listen-address=" + address};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments);
}

std::string local(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

// Listens on a free port and gives one client this answer; without one it never accepts.
class OddServer {
 public:
  explicit OddServer(std::string answer = {}) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof name;
    REQUIRE(::bind(socket_, reinterpret_cast<sockaddr*>(&name), size) == 0);
    REQUIRE(::listen(socket_, 4) == 0);
    REQUIRE(::getsockname(socket_, reinterpret_cast<sockaddr*>(&name), &size) == 0);
    port_ = ntohs(name.sin_port);
    if (answer.empty()) return;
    thread_ = std::thread([this, answer] {
      const int client = ::accept(socket_, nullptr, nullptr);
      char request[512];
      (void)!::read(client, request, sizeof request);
      (void)!::write(client, answer.data(), answer.size());
      ::close(client);
    });
  }
  ~OddServer() {
    if (thread_.joinable()) thread_.join();
    ::close(socket_);
  }
  std::uint16_t port() const { return port_; }

 private:
  int socket_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace

TEST_SUITE_BEGIN("healthcheck");

TEST_CASE("it returns 0 without output while the exporter serves, and 1 after it has ended") {
  ExporterProcess exporter({"--simulate=asleep"});
  const std::string address = local(exporter.port());
  const ProgramOutcome well = healthcheck(address);
  CAPTURE(well.output);
  CHECK(well.status == 0);
  CHECK(well.output.empty());
  CHECK(healthcheck(":" + std::to_string(exporter.port())).status == 0);
  CHECK(healthcheck("localhost:" + std::to_string(exporter.port())).status == 0);

  REQUIRE(exporter.stop(SIGTERM) == 0);
  const ProgramOutcome gone = healthcheck(address);
  CHECK(gone.status == 1);
  CHECK(gone.output == "intel-gpu-exporter: " + address + ": connect: Connection refused\n");
}

TEST_CASE("it reads the address from the environment as the exporter does, and supports UNIX sockets") {
  const MachineTree tree;
  const std::string address = "unix:" + tree.path("exporter.sock");
  ExporterProcess exporter({"--simulate=asleep", "--web.listen-address=" + address});
  ::setenv("INTEL_GPU_EXPORTER_WEB_LISTEN_ADDRESS", address.c_str(), 1);
  const ProgramOutcome outcome = run_program({exporter_binary(), "healthcheck"});
  ::unsetenv("INTEL_GPU_EXPORTER_WEB_LISTEN_ADDRESS");
  CAPTURE(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(healthcheck("unix:" + tree.path("nobody.sock")).status == 1);
}

TEST_CASE("with TLS and passwords it needs neither a certificate nor a password") {
  MachineTree tree;
  const ProgramOutcome made =
      run_program({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                   "2", "-subj", "/CN=localhost", "-keyout", tree.path("key.pem"), "-out", tree.path("cert.pem")});
  CAPTURE(made.output);
  REQUIRE(made.status == 0);
  tree.write("web.yml",
             "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n"
             "basic_auth_users:\n  alice: $2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi\n");
  const std::string file = "--web.config.file=" + tree.path("web.yml");
  ExporterProcess exporter({"--simulate=asleep", file});
  CHECK(healthcheck(local(exporter.port()), {file}).status == 0);
  // A health check without TLS flags finds another protocol than it expects.
  CHECK(healthcheck(local(exporter.port())).status == 1);
  REQUIRE(exporter.stop(SIGTERM) == 0);
  CHECK(healthcheck(local(exporter.port()), {file}).status == 1);
}

TEST_CASE("it fails within seconds if the server never responds") {
  const OddServer silent;
  const ProgramOutcome outcome = healthcheck(local(silent.port()));
  CHECK(outcome.status == 1);
  CHECK(outcome.output.find("no answer within 3 s") != std::string::npos);
}

TEST_CASE("it fails if the server is not ready; a server that demands TLS or a password is alive") {
  const auto answered = [](const std::string& answer, std::vector<std::string> more) {
    const OddServer server(answer);
    return healthcheck(local(server.port()), std::move(more)).status;
  };
  const std::string secured = "--web.config.file=web.yml";  // which it does not read: the exporter did
  const std::string starting = "HTTP/1.1 503 Service Unavailable\r\n\r\n";
  const std::string password = "HTTP/1.1 401 Unauthorized\r\n\r\n";
  const std::string alert("\x15\x03\x01\x00\x02\x02\x46", 7);
  CHECK(answered(starting, {}) == 1);
  CHECK(answered(starting, {secured}) == 1);
  CHECK(answered(password, {}) == 1);
  CHECK(answered(password, {secured}) == 0);
  CHECK(answered(alert, {}) == 1);
  CHECK(answered(alert, {secured}) == 0);
  CHECK(answered("SSH-2.0-OpenSSH_9.2\r\n", {}) == 1);
}

TEST_CASE("port 0 cannot be checked and is reported") {
  const ProgramOutcome outcome = healthcheck("127.0.0.1:0");
  CHECK(outcome.status == 2);
  CHECK(outcome.output.find("set one with --web.listen-address") != std::string::npos);
}

TEST_SUITE_END();
