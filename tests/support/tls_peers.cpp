// SPDX-License-Identifier: Apache-2.0
#include "support/tls_peers.h"

#include <openssl/ssl.h>

#include <stdexcept>

#include "support/scratch_folder.h"
#include "support/test_authority.h"

namespace igpu::test {

void FreeSsl::operator()(SSL* ssl) const { SSL_free(ssl); }
void FreeSsl::operator()(SSL_CTX* context) const { SSL_CTX_free(context); }

TlsServer::TlsServer() : context(SSL_CTX_new(TLS_server_method()), FreeSsl()) {
  const ScratchFolder folder;
  TestAuthority(folder).issue({"server"});
  if (SSL_CTX_use_certificate_file(context.get(), folder.path("server.pem").c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_use_PrivateKey_file(context.get(), folder.path("server.key").c_str(), SSL_FILETYPE_PEM) != 1) {
    throw std::runtime_error("OpenSSL cannot use its own certificate");
  }
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_client_hello_cb(
      context.get(),
      [](SSL*, int*, void* number) {
        ++*static_cast<int*>(number);
        return SSL_CLIENT_HELLO_SUCCESS;
      },
      &hellos);
}

std::string client_hello() {
  const std::unique_ptr<SSL_CTX, FreeSsl> context(SSL_CTX_new(TLS_client_method()));
  const std::unique_ptr<SSL, FreeSsl> ssl(SSL_new(context.get()));
  BIO* const made = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), made);
  (void)SSL_connect(ssl.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(made, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

}  // namespace igpu::test
