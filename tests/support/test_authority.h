// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "support/scratch_folder.h"

namespace igpu::test {

// A certificate authority in a folder, worked by the openssl program. Its own certificate is ca.pem.
class TestAuthority {
 public:
  explicit TestAuthority(const ScratchFolder& folder, std::string name = "ca");

  struct Request {
    std::string name;                                 // NAME.pem and NAME.key
    std::string sans = "DNS:localhost,IP:127.0.0.1";  // "": none
    std::string key_type = "ec";                      // "ec" or "rsa:2048"
    int days = 30;
    std::string usage;  // extendedKeyUsage; "": any
    std::string digest = "sha256";
  };
  // Throws std::runtime_error with openssl's message.
  void issue(const Request& request) const;

  std::string certificate() const { return folder_.path(name_ + ".pem"); }

 private:
  const ScratchFolder& folder_;
  std::string name_;
};

void openssl(const std::vector<std::string>& arguments);  // throws std::runtime_error with its message

}  // namespace igpu::test
