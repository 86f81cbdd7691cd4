// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "server/web_config/config.h"

using namespace igpu::exporter;

namespace {

std::string hash_of(const char* password, const char* setting) { return crypt_bcrypt(password, setting); }

}  // namespace

TEST_SUITE_BEGIN("bcrypt");

TEST_CASE("published vectors match, in all three spellings") {
  // From the test vectors that every bcrypt shares ("U*U", salt of C's).
  CHECK(bcrypt_matches("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"));
  CHECK(bcrypt_matches("U*U", "$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"));
  CHECK(bcrypt_matches("U*U", "$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"));
  CHECK(bcrypt_matches("U*U*", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK"));
  CHECK(bcrypt_matches("U*U*U", "$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a"));
  CHECK(bcrypt_matches("", "$2a$06$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkgY8jIucDrjc8deX1s."));
  CHECK(bcrypt_matches("abc", "$2a$06$If6bvum7DFjUnE9p2uDeDu0YHzrHM6tf.iqN8.yx.jNN1ILEf7h0i"));
  CHECK_FALSE(bcrypt_matches("U*V", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"));
  CHECK_FALSE(bcrypt_matches("", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"));
}

TEST_CASE("only a complete bcrypt hash is accepted: crypt would read some others as different schemes") {
  const std::string good = hash_of("x", "$2b$04$abcdefghijklmnopqrstuu");
  REQUIRE(is_bcrypt_hash(good));
  CHECK(bcrypt_cost(good) == 4);
  std::string changed = good;
  CHECK_FALSE(is_bcrypt_hash(good.substr(0, 59)));
  CHECK_FALSE(is_bcrypt_hash(good + "a"));
  for (const auto& [at, c] :
       {std::pair(2, 'x'), std::pair(2, '$'), std::pair(1, '1'), std::pair(0, '_'), std::pair(5, '3'),
        std::pair(4, '3'), std::pair(4, '2'), std::pair(30, ':'), std::pair(40, '*')}) {
    changed = good;
    changed[static_cast<std::size_t>(at)] = c;
    CAPTURE(changed);
    CHECK_FALSE(is_bcrypt_hash(changed));
    CHECK_FALSE(bcrypt_matches("x", changed));
  }
  CHECK_FALSE(is_bcrypt_hash(""));
  CHECK_FALSE(is_bcrypt_hash("*0"));
  CHECK_FALSE(is_bcrypt_hash("ab01FAX.bQRSU"));
}

TEST_CASE("a password with a NUL never matches: crypt reads up to the NUL only") {
  const std::string hash = hash_of("abc", "$2b$04$abcdefghijklmnopqrstuu");
  CHECK(bcrypt_matches("abc", hash));
  CHECK_FALSE(bcrypt_matches(std::string_view("abc\0def", 7), hash));
  CHECK_FALSE(bcrypt_matches(std::string_view("abc\0", 4), hash));
}

TEST_CASE("72 bytes of a password count, as in every bcrypt") {
  const std::string password(72, 'p');
  const std::string hash = hash_of(password.c_str(), "$2b$04$abcdefghijklmnopqrstuu");
  CHECK(bcrypt_matches(password, hash));
  CHECK(bcrypt_matches(password + "tail", hash));
  CHECK_FALSE(bcrypt_matches(password.substr(1), hash));
}

TEST_CASE("a salt in another spelling of the same bits still matches") {
  // The last character of the salt carries two bits; other programs leave the rest of it as it came.
  std::string hash = hash_of("x", "$2b$04$abcdefghijklmnopqrstuu");
  hash[28] = 'v';
  CHECK(bcrypt_matches("x", hash));
}

TEST_CASE("a dummy hash has the given cost and matches no password") {
  for (const unsigned cost : {4U, 5U, 10U, 18U}) CHECK(bcrypt_cost(dummy_bcrypt_hash(cost)) == cost);
  CHECK(is_bcrypt_hash(dummy_bcrypt_hash(12)));
  CHECK_FALSE(bcrypt_matches("", dummy_bcrypt_hash(4)));
  CHECK_FALSE(bcrypt_matches("password", dummy_bcrypt_hash(4)));
}

TEST_SUITE_END();
