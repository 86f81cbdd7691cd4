// SPDX-License-Identifier: Apache-2.0
#include <openssl/crypto.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "server/web_config/config.h"

// libxcrypt's, of lib/crypt-bcrypt.c: leaves output as it is if setting is no bcrypt hash.
extern "C" void crypt_bcrypt_rn(const char* password, std::size_t password_size, const char* setting,
                                std::size_t setting_size, std::uint8_t* output, std::size_t output_size, void* scratch,
                                std::size_t scratch_size);

namespace igpu::exporter {
namespace {

struct Workspace {
  alignas(std::max_align_t) std::array<std::uint8_t, 8192> scratch{};
  std::array<char, 64> hash{};
  ~Workspace() { OPENSSL_cleanse(this, sizeof *this); }
};

}  // namespace

std::string crypt_bcrypt(const char* password, const std::string& setting) {
  const auto workspace = std::make_unique<Workspace>();
  crypt_bcrypt_rn(password, 0, setting.c_str(), setting.size(), reinterpret_cast<std::uint8_t*>(workspace->hash.data()),
                  workspace->hash.size(), workspace->scratch.data(), workspace->scratch.size());
  return workspace->hash.data();
}

}  // namespace igpu::exporter
