// SPDX-License-Identifier: Apache-2.0
#include <crypt.h>
#include <openssl/crypto.h>

#include <memory>

#include "server/web_config/config.h"

namespace igpu::exporter {
namespace {

// crypt's workspace contains the password and values derived from it.
struct Workspace {
  crypt_data data{};
  ~Workspace() { OPENSSL_cleanse(&data, sizeof data); }
};

}  // namespace

std::string crypt_bcrypt(const char* password, const std::string& setting) {
  const auto workspace = std::make_unique<Workspace>();
  const char* const hash = ::crypt_r(password, setting.c_str(), &workspace->data);
  return hash == nullptr ? std::string() : hash;
}

}  // namespace igpu::exporter
