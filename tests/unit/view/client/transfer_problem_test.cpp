// SPDX-License-Identifier: Apache-2.0
#include "view/client/transfer_problem.h"

#include <doctest/doctest.h>

#include <cerrno>

using namespace igpu::exporter;

namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE_BEGIN("transfer_problem");

TEST_CASE("a server that asks in vain for a client certificate is recognised, whenever it closes the connection") {
  const char* const alert = "OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0";
  for (const FailedTransfer& failed : {
           FailedTransfer{.code = CURLE_RECV_ERROR, .detail = alert, .tls = true},
           FailedTransfer{.code = CURLE_RECV_ERROR, .detail = "getpeername() failed with errno 107", .tls = true},
           FailedTransfer{.code = CURLE_SEND_ERROR, .detail = "Broken pipe", .tls = true},
           FailedTransfer{.code = CURLE_GOT_NOTHING, .detail = "Empty reply from server", .tls = true},
           FailedTransfer{.code = CURLE_SSL_CONNECT_ERROR, .detail = "sslv3 alert handshake failure", .tls = true},
       }) {
    CHECK(describe(failed) == "closed the connection; it may require a client certificate: --cert FILE --key FILE");
  }
}

TEST_CASE("a client certificate that the server does not accept is the problem, not a missing one") {
  const std::string text = describe({.code = CURLE_RECV_ERROR,
                                     .detail = "SSL routines::tlsv1 alert unknown ca, errno 0",
                                     .tls = true,
                                     .client_certificate = true});
  CHECK(text == "rejects the client certificate: SSL routines::tlsv1 alert unknown ca, errno 0");
}

TEST_CASE("a certificate for another name is not mended by --cacert") {
  const std::string other =
      describe({.code = CURLE_PEER_FAILED_VERIFICATION,
                .detail = "SSL: no alternative certificate subject name matches target host name '127.0.0.1'",
                .tls = true});
  CHECK(has(other, "its certificate is for another name"));
  CHECK_FALSE(has(other, "--cacert"));
  CHECK(has(describe({.code = CURLE_PEER_FAILED_VERIFICATION, .detail = "self-signed certificate", .tls = true}),
            "--cacert FILE"));
}

TEST_CASE("a host that cannot be reached is one short line") {
  FailedTransfer failed{.code = CURLE_COULDNT_CONNECT, .detail = "Failed to connect to rack1 port 10068 after 0 ms"};
  CHECK(describe(failed) == "cannot connect: Failed to connect to rack1 port 10068 after 0 ms");
  failed.os_error = ECONNREFUSED;
  CHECK(describe(failed) == "cannot connect: Connection refused; is the exporter running there?");
  failed.os_error = EHOSTUNREACH;
  CHECK(describe(failed) == "cannot connect: No route to host");
}

TEST_CASE("http where the host speaks TLS, and the other way round") {
  CHECK(has(describe({.code = CURLE_RECV_ERROR, .detail = "Connection reset by peer"}), "https://"));
  CHECK(has(describe({.code = CURLE_GOT_NOTHING, .detail = "Empty reply from server"}), "https://"));
  const std::string plain = describe(
      {.code = CURLE_SSL_CONNECT_ERROR, .detail = "error:0A00010B:SSL routines::wrong version number", .tls = true});
  CHECK(plain == "does not speak TLS; if it speaks HTTP, omit https://");
}

TEST_SUITE_END();
