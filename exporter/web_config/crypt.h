// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace igpu::exporter {

// The bcrypt hash of a password of at most 72 bytes, with the version, cost and salt of `setting`, which is a whole
// hash. Empty: not computed. On Linux by crypt(3), on Windows by libxcrypt's bcrypt alone.
std::string crypt_bcrypt(const char* password, const std::string& setting);

}  // namespace igpu::exporter
