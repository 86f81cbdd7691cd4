// SPDX-License-Identifier: Apache-2.0
#include "web_config/eks_blowfish.h"

#include <doctest/doctest.h>

#include <random>

#include "web_config/crypt.h"

using namespace igpu::exporter;

TEST_SUITE_BEGIN("bcrypt without crypt(3)");

TEST_CASE("published vectors match") {
  // Those that every bcrypt is tested with (crypt_blowfish, and the jBCrypt of OpenBSD's author).
  const std::pair<const char*, const char*> vectors[] = {
      {"U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"},
      {"U*U*", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK"},
      {"U*U*U", "$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a"},
      {"", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy"},
      {"", "$2a$06$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkgY8jIucDrjc8deX1s."},
      {"abc", "$2a$06$If6bvum7DFjUnE9p2uDeDu0YHzrHM6tf.iqN8.yx.jNN1ILEf7h0i"},
  };
  for (const auto& vector : vectors) {
    const std::string hash = vector.second;
    CAPTURE(hash);
    CHECK(eks_blowfish_hash(vector.first, hash) == hash);
  }
}

TEST_CASE("it computes what crypt(3) computes, for passwords of any bytes and length") {
  std::mt19937 random(20261124);
  for (int round = 0; round < 24; ++round) {
    std::string password;
    for (unsigned left = static_cast<unsigned>(random() % 80); left > 0; --left)
      password += static_cast<char>(1 + random() % 255);
    std::string setting = round % 2 == 0 ? "$2b$04$" : "$2y$05$";
    constexpr std::string_view kSalt = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    for (int i = 0; i < 22; ++i) setting += kSalt[random() % kSalt.size()];
    setting.append(31, '.');
    CAPTURE(password);
    CHECK(eks_blowfish_hash(password, setting) == crypt_bcrypt(password.substr(0, 72).c_str(), setting));
  }
}

TEST_SUITE_END();
