// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace igpu::exporter {

// Characters of a hash: "$2b$10$", 22 of salt, the rest. A longer password counts as far as that.
constexpr std::size_t kSaltBegin = 7, kHashBegin = 29, kCountedPassword = 72;

// bcrypt as Provos and Mazières describe it ("A Future-Adaptable Password Scheme", USENIX 1999), for systems whose C
// library has none. password: without a NUL; its first 72 bytes count. setting: a valid bcrypt hash, of which version,
// cost and salt are used. All three versions are the one algorithm: they differ in the mistakes of old programs.
std::string eks_blowfish_hash(std::string_view password, std::string_view setting);

}  // namespace igpu::exporter
