// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace igpu::exporter {

// The cost up to which a hash is accepted: each step doubles the time. 10 takes about 50 ms, 18 more than ten seconds.
inline constexpr unsigned kHighestBcryptCost = 18;

// "$2a$", "$2b$" or "$2y$", a cost of 4 to kHighestBcryptCost, and 53 characters of salt and hash: all of it.
bool is_bcrypt_hash(std::string_view text);

unsigned bcrypt_cost(std::string_view hash);  // of one that is a bcrypt hash

// Takes as long as the hash's cost says, whatever the outcome. A password with a NUL never matches (crypt would only
// look at what stands before it); as with every bcrypt, 72 bytes of a password count.
bool bcrypt_matches(std::string_view password, std::string_view hash);

// A hash of that cost that nobody has the password of.
std::string bcrypt_decoy(unsigned cost);

}  // namespace igpu::exporter
