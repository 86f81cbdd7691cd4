// SPDX-License-Identifier: Apache-2.0
#include "web_config/crypt.h"
#include "web_config/eks_blowfish.h"

namespace igpu::exporter {

std::string crypt_bcrypt(const char* password, const std::string& setting) {
  return eks_blowfish_hash(password, setting);
}

}  // namespace igpu::exporter
