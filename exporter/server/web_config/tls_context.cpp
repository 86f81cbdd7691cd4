// SPDX-License-Identifier: Apache-2.0
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>

#include "igpu/words.h"
#include "platform/own_process.h"
#include "platform/sockets.h"
#include "server/web_config/config.h"

namespace igpu::exporter {
namespace {

template <auto Free>
struct FreeWith {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, FreeWith<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, FreeWith<X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
using GeneralNames = std::unique_ptr<GENERAL_NAMES, FreeWith<GENERAL_NAMES_free>>;

// Which clients a context accepts. Owned by the SSL_CTX, which connections keep alive after a reload has replaced it.
struct ClientPolicy {
  bool verify = false;
  std::vector<std::string> allowed_sans;
};

int policy_index() {
  static const int index = SSL_CTX_get_ex_new_index(
      0, nullptr, nullptr, nullptr, [](void*, void* policy, CRYPTO_EX_DATA*, int, long, void*) {
        const std::unique_ptr<ClientPolicy> owned(static_cast<ClientPolicy*>(policy));
      });
  return index;
}

// The reason of OpenSSL's oldest error; discards the others.
std::string openssl_reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "unknown reason" : reason;
}

Bio memory(std::string_view text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

std::vector<Certificate> certificates_in(const std::string& pem, const std::string& name) {
  std::vector<Certificate> found;
  const Bio bio = memory(pem);
  ERR_clear_error();
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) found.emplace_back(certificate);
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  if (error != 0 && ERR_GET_REASON(error) != PEM_R_NO_START_LINE) {
    throw std::runtime_error(name + ": certificate " + std::to_string(found.size() + 1) + " cannot be read: " +
                             (ERR_reason_error_string(error) == nullptr ? "broken" : ERR_reason_error_string(error)));
  }
  if (found.empty()) throw std::runtime_error(name + " contains no certificate (PEM, -----BEGIN CERTIFICATE-----)");
  return found;
}

PrivateKey private_key_in(const std::string& pem, const std::string& name) {
  bool encrypted = false;
  const Bio bio = memory(pem);
  ERR_clear_error();
  PrivateKey key(PEM_read_bio_PrivateKey(
      bio.get(), nullptr,
      [](char*, int, int, void* asked) {
        *static_cast<bool*>(asked) = true;
        return -1;
      },
      &encrypted));
  const std::string reason = openssl_reason();
  if (encrypted) {
    throw std::runtime_error(name + " is encrypted, which is not supported: `openssl pkey -in KEY -out NEW_KEY` " +
                             "removes the passphrase");
  }
  if (!key) throw std::runtime_error(name + " contains no private key (PEM, -----BEGIN PRIVATE KEY-----): " + reason);
  return key;
}

void use_certificate(SSL_CTX* context, const TlsSettings& settings, const TlsMaterial& material,
                     const std::string& where, std::vector<TlsWarning>& warnings) {
  const std::string certificate_name = settings.certificate.name(where);
  const std::string key_name = settings.private_key.name(where);
  std::vector<Certificate> chain = certificates_in(material.certificate, certificate_name);
  ERR_clear_error();
  if (SSL_CTX_use_certificate(context, chain.front().get()) != 1) {
    throw std::runtime_error(certificate_name + " cannot be used: " + openssl_reason() +
                             "; RSA needs 2048 bits, and a signature by SHA-256");
  }
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1) {
      throw std::runtime_error(certificate_name + ": certificate " + std::to_string(i + 1) +
                               " cannot be used: " + openssl_reason());
    }
  }
  const PrivateKey key = private_key_in(material.private_key, key_name);
  ERR_clear_error();
  if (X509_check_private_key(chain.front().get(), key.get()) != 1) {
    ERR_clear_error();
    throw std::runtime_error(key_name + " does not belong to the first certificate of " + settings.certificate.key +
                             (settings.certificate.path.empty() ? "" : " " + settings.certificate.path) +
                             ": use the key of that certificate; the server's own certificate comes first");
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    throw std::runtime_error(key_name + " cannot be used: " + openssl_reason());
  }
  if (X509_cmp_current_time(X509_get0_notAfter(chain.front().get())) < 0) {
    warnings.push_back(
        {certificate_name + " has expired: clients will reject it", "replace it; it is read without a restart"});
  }
}

int openssl_version(TlsVersion version) { return static_cast<int>(version); }
static_assert(static_cast<int>(TlsVersion::tls10) == TLS1_VERSION &&
              static_cast<int>(TlsVersion::tls13) == TLS1_3_VERSION);

void check(long result, const std::string& where, const char* what) {
  if (result != 1) {
    throw std::runtime_error(where + ": tls_server_config: " + what + " cannot be applied: " + openssl_reason());
  }
}

void use_versions_and_ciphers(SSL_CTX* context, const TlsSettings& settings, const std::string& where) {
  check(SSL_CTX_set_min_proto_version(context, openssl_version(settings.min_version)), where, "min_version");
  check(SSL_CTX_set_max_proto_version(context, openssl_version(settings.max_version)), where, "max_version");
  // Versions before 1.2 sign with SHA-1, which OpenSSL allows at security level 0 only.
  const bool old = settings.min_version < TlsVersion::tls12;
  SSL_CTX_set_security_level(context, old ? 0 : 2);
  check(SSL_CTX_set_cipher_list(context, joined(offered_ciphers(settings), ":").c_str()), where, "cipher_suites");
  check(SSL_CTX_set_ciphersuites(context, joined(offered_tls13_ciphers(settings), ":").c_str()), where,
        "cipher_suites");
  check(SSL_CTX_set1_groups_list(context, joined(offered_groups(settings), ":").c_str()), where, "curve_preferences");
  if (settings.prefer_server_ciphers) SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE);
}

std::string_view text_view(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

// "192.0.2.1", "2001:db8::1"; "" if it is neither IPv4 nor IPv6.
std::string address_text(std::string_view bytes) {
  constexpr std::string_view kMapped("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
  if (bytes.size() == 16 && bytes.starts_with(kMapped)) bytes.remove_prefix(kMapped.size());
  char text[INET6_ADDRSTRLEN] = "";
  const int family = bytes.size() == 16 ? AF_INET6 : AF_INET;
  if (bytes.size() != 4 && bytes.size() != 16) return {};
  return ::inet_ntop(family, bytes.data(), text, sizeof text) == nullptr ? "" : text;
}

bool has_allowed_san(X509* certificate, const std::vector<std::string>& allowed) {
  const GeneralNames names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  if (!names) return false;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    std::string value;
    switch (name->type) {
      case GEN_DNS: value = text_view(name->d.dNSName); break;
      case GEN_EMAIL: value = text_view(name->d.rfc822Name); break;
      case GEN_URI: value = text_view(name->d.uniformResourceIdentifier); break;
      case GEN_IPADD: value = address_text(text_view(name->d.iPAddress)); break;
      default: continue;
    }
    if (!value.empty() && std::ranges::find(allowed, value) != allowed.end()) return true;
  }
  return false;
}

// Called during the handshake when a client sent a certificate. 1: accepted.
int check_client(X509_STORE_CTX* store, void* data) {
  const auto& policy = *static_cast<const ClientPolicy*>(data);
  if (policy.verify && X509_verify_cert(store) <= 0) return 0;
  if (!policy.allowed_sans.empty() && !has_allowed_san(X509_STORE_CTX_get0_cert(store), policy.allowed_sans)) {
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED);
    return 0;
  }
  X509_STORE_CTX_set_error(store, X509_V_OK);
  return 1;
}

// Loaded now: during a handshake the sandbox may deny what OpenSSL's defaults read.
void use_system_authorities(SSL_CTX* context, const std::string& where) {
  const char* chosen = std::getenv(X509_get_default_cert_file_env());             // SSL_CERT_FILE, as in Go
  const std::array<const char*, 4> bundles{chosen,                                // if set, no other
                                           "/etc/ssl/certs/ca-certificates.crt",  // Debian, Alpine, Arch
                                           "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
                                           "/etc/ssl/ca-bundle.pem"};                            // SUSE
  const CallersRights callers;
  for (std::size_t i = chosen == nullptr ? 1 : 0; i < (chosen == nullptr ? bundles.size() : 1); ++i) {
    ERR_clear_error();
    if (SSL_CTX_load_verify_file(context, bundles[i]) == 1) return;
  }
  ERR_clear_error();
  throw std::runtime_error(where +
                           ": tls_server_config: client_auth_type: there is no client_ca_file, and this machine has no "
                           "CA bundle: set client_ca_file, or install ca-certificates");
}

void use_client_policy(SSL_CTX* context, const TlsSettings& settings, const TlsMaterial& material,
                       const std::string& where, std::vector<TlsWarning>& warnings) {
  if (settings.client_auth == ClientAuth::none) return;
  auto policy = std::make_unique<ClientPolicy>();
  policy->verify = verifies_certificate(settings.client_auth);
  policy->allowed_sans = settings.allowed_sans;
  const bool required = requires_certificate(settings.client_auth);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
  SSL_CTX_set_cert_verify_callback(context, check_client, policy.get());
  if (SSL_CTX_set_ex_data(context, policy_index(), policy.get()) != 1) throw std::bad_alloc();
  (void)policy.release();  // owned by the context

  if (!settings.client_ca.empty()) {
    const std::vector<Certificate> authorities = certificates_in(material.client_ca, settings.client_ca.name(where));
    X509_STORE* store = SSL_CTX_get_cert_store(context);
    for (const Certificate& authority : authorities) {
      if (X509_STORE_add_cert(store, authority.get()) != 1 || SSL_CTX_add_client_CA(context, authority.get()) != 1) {
        throw std::runtime_error(settings.client_ca.name(where) + " cannot be used: " + openssl_reason());
      }
    }
    // Each of them is trusted itself, even if another CA signed it.
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  } else if (verifies_certificate(settings.client_auth)) {
    use_system_authorities(context, where);
    warnings.push_back({where +
                            ": tls_server_config: without client_ca_file client certificates of every authority that "
                            "this machine trusts are accepted",
                        "set client_ca_file"});
  }
}

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
  static constexpr unsigned char kHttp11[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* found = nullptr;
  const int result = SSL_select_next_proto(&found, size, kHttp11, sizeof kHttp11, offered, offered_size);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

TlsMaterial::~TlsMaterial() { OPENSSL_cleanse(private_key.data(), private_key.size()); }

TlsContext make_tls_context(const TlsSettings& settings, const TlsMaterial& material, const std::string& where) {
  TlsContext made;
  made.context = std::shared_ptr<SSL_CTX>(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  SSL_CTX* context = made.context.get();
  if (context == nullptr) throw std::runtime_error("OpenSSL cannot be used: " + openssl_reason());
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  use_versions_and_ciphers(context, settings, where);
  use_certificate(context, settings, material, where, made.warnings);
  use_client_policy(context, settings, material, where, made.warnings);
  return made;
}

}  // namespace igpu::exporter
