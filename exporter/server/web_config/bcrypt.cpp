// SPDX-License-Identifier: Apache-2.0
#include <openssl/crypto.h>

#include <algorithm>

#include "igpu/words.h"
#include "server/web_config/config.h"

namespace igpu::exporter {
namespace {

// Characters of a hash: "$2b$10$", 22 of salt, the rest. A longer password counts as far as that.
constexpr std::size_t kSaltBegin = 7, kHashBegin = 29, kSize = 60, kCountedPassword = 72;

}  // namespace

bool is_bcrypt_hash(std::string_view text) {
  if (text.size() != kSize || !text.starts_with("$2") ||
      std::string_view("aby").find(text[2]) == std::string_view::npos || text[3] != '$' || !is_digit(text[4]) ||
      !is_digit(text[5]) || text[6] != '$') {
    return false;
  }
  const unsigned cost = bcrypt_cost(text);
  return cost >= 4 && cost <= kHighestBcryptCost && std::all_of(text.begin() + kSaltBegin, text.end(), [](char c) {
           return is_letter_or_digit(c) || c == '.' || c == '/';
         });
}

unsigned bcrypt_cost(std::string_view hash) {
  return static_cast<unsigned>(hash[4] - '0') * 10 + static_cast<unsigned>(hash[5] - '0');
}

bool bcrypt_matches(std::string_view password, std::string_view hash) {
  if (!is_bcrypt_hash(hash)) return false;
  char phrase[kCountedPassword + 1] = {};
  std::copy_n(password.data(), std::min(password.size(), kCountedPassword), phrase);
  const std::string computed = crypt_bcrypt(phrase, std::string(hash));
  OPENSSL_cleanse(phrase, sizeof phrase);
  if (computed.size() != kSize) return false;
  // Without the salt, which crypt rewrites in its canonical form.
  const bool same = CRYPTO_memcmp(computed.data() + kHashBegin, hash.data() + kHashBegin, kSize - kHashBegin) == 0;
  return same && password.find('\0') == std::string_view::npos;
}

std::string dummy_bcrypt_hash(unsigned cost) {
  std::string hash = "$2b$";
  hash += static_cast<char>('0' + cost / 10);
  hash += static_cast<char>('0' + cost % 10);
  hash += "$IntelGpuExporterDecoy.";
  return hash.append(kSize - kHashBegin, '.');
}

}  // namespace igpu::exporter
