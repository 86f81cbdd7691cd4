// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace igpu::exporter {

// The highest accepted cost: each step doubles the time. 10 takes about 50 ms, 18 more than ten seconds.
inline constexpr unsigned kHighestBcryptCost = 18;

// "$2a$", "$2b$" or "$2y$", a cost of 4 to kHighestBcryptCost, and 53 characters of salt and hash.
bool is_bcrypt_hash(std::string_view text);

unsigned bcrypt_cost(std::string_view hash);  // hash: a valid bcrypt hash

// The time depends on the hash's cost only, not on the result. A password with a NUL never matches, as crypt would
// ignore the rest; as in every bcrypt, the first 72 bytes of a password count.
bool bcrypt_matches(std::string_view password, std::string_view hash);

// What differs between operating systems: the bcrypt hash of a password of at most 72 bytes, with the version, cost and
// salt of `setting`, which is a whole hash. Empty: not computed. On Linux by crypt(3), on Windows by libxcrypt's bcrypt
// alone.
std::string crypt_bcrypt(const char* password, const std::string& setting);

// A hash of that cost that no known password matches, for constant-time rejection.
std::string dummy_bcrypt_hash(unsigned cost);

}  // namespace igpu::exporter
