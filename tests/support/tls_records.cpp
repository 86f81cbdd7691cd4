// SPDX-License-Identifier: Apache-2.0
#include "support/tls_records.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>

#include <array>
#include <memory>
#include <stdexcept>

namespace igpu::test {
namespace {

constexpr std::size_t kKey = 16, kTag = 16, kNonce = 12, kSalt = 4;

const unsigned char* bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

std::string big_endian(std::uint64_t number, std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[size - 1 - i] = static_cast<char>(number >> (8 * i) & 0xff);
  return text;
}

std::string from_hex(std::string_view hex) {
  std::string text;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    text += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return text;
}

std::string hmac(std::string_view key, const std::string& text) {
  std::string sum(32, '\0');
  ::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes(std::string_view(text)), text.size(), bytes(sum),
         nullptr);
  return sum;
}

// RFC 8446, 7.1; the first block of HKDF-Expand is long enough.
std::string expand_label(std::string_view secret, const std::string& label, std::size_t size) {
  const std::string full = "tls13 " + label;
  const std::string info = big_endian(size, 2) + big_endian(full.size(), 1) + full + std::string(1, '\0') + '\x01';
  return hmac(secret, info).substr(0, size);
}

// RFC 5246, 5 and 6.3: two blocks hold both keys and both salts.
std::string key_block(std::string_view master, const std::string& randoms) {
  const std::string seed = "key expansion" + randoms;
  const std::string first = hmac(master, seed);
  const std::string second = hmac(master, first);
  return hmac(master, first + seed) + hmac(master, second + seed);
}

std::string encrypt(const std::string& key, const std::string& nonce, const std::string& clear_part,
                    std::string_view text) {
  const std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> cipher(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  std::string out(text.size() + kTag, '\0');
  int size = 0;
  EVP_EncryptInit_ex(cipher.get(), EVP_aes_128_gcm(), nullptr, bytes(std::string_view(key)),
                     bytes(std::string_view(nonce)));
  EVP_EncryptUpdate(cipher.get(), nullptr, &size, bytes(std::string_view(clear_part)),
                    static_cast<int>(clear_part.size()));
  if (!text.empty()) EVP_EncryptUpdate(cipher.get(), bytes(out), &size, bytes(text), static_cast<int>(text.size()));
  EVP_EncryptFinal_ex(cipher.get(), bytes(out) + text.size(), &size);
  if (EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_GET_TAG, kTag, bytes(out) + text.size()) != 1)
    throw std::runtime_error("OpenSSL does not encrypt");
  return out;
}

}  // namespace

TlsRecords::TlsRecords(SSL_CTX& client) {
  SSL_CTX_set_ciphersuites(&client, "TLS_AES_128_GCM_SHA256");
  SSL_CTX_set_cipher_list(&client, "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256");
  SSL_CTX_set_app_data(&client, this);
  SSL_CTX_set_keylog_callback(&client, [](const SSL* ssl, const char* line) {
    static_cast<TlsRecords*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)))->take_keys(*ssl, line);
  });
}

// A line of the key log: what it is, the client's random, the secret.
void TlsRecords::take_keys(const SSL& ssl, std::string_view line) {
  const std::string_view label = line.substr(0, line.find(' '));
  const std::string random = from_hex(line.substr(label.size() + 1, 64));
  const std::string secret = from_hex(line.substr(label.size() + 66));
  if (label == "CLIENT_TRAFFIC_SECRET_0") {
    is_tls13_ = true;
    key_ = expand_label(secret, "key", kKey);
    iv_ = expand_label(secret, "iv", kNonce);
    sequence_ = 0;
  } else if (label == "CLIENT_RANDOM") {
    std::string of_server(SSL3_RANDOM_SIZE, '\0');
    SSL_get_server_random(&ssl, bytes(of_server), of_server.size());
    const std::string keys = key_block(secret, of_server + random);
    is_tls13_ = false;
    key_ = keys.substr(0, kKey);
    iv_ = keys.substr(2 * kKey, kSalt);
    sequence_ = 1;  // Finished was the first
  }
}

std::string TlsRecords::make(Type type, std::string_view content) {
  if (key_.empty()) throw std::logic_error("the client has not shaken hands");
  const std::string number = big_endian(sequence_++, 8);
  const char kind = static_cast<char>(type);
  if (!is_tls13_) {
    const std::string header = kind + std::string("\x03\x03");
    return header + big_endian(number.size() + content.size() + kTag, 2) + number +
           encrypt(key_, iv_ + number, number + header + big_endian(content.size(), 2), content);
  }
  std::string nonce = iv_;
  for (std::size_t i = 0; i < number.size(); ++i) nonce[kNonce - 8 + i] ^= number[i];
  const std::string inner = std::string(content) + kind;
  const std::string header = std::string("\x17\x03\x03") + big_endian(inner.size() + kTag, 2);
  return header + encrypt(key_, nonce, header, inner);
}

}  // namespace igpu::test
