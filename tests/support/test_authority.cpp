// SPDX-License-Identifier: Apache-2.0
#include "support/test_authority.h"

#include <stdexcept>

#include "support/run_program.h"

namespace igpu::test {

void openssl(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{"openssl"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const ProgramOutcome outcome = run_program(command);
  if (outcome.status != 0) throw std::runtime_error("openssl " + arguments.front() + ": " + outcome.output);
}

TestAuthority::TestAuthority(const ScratchFolder& folder, std::string name) : folder_(folder), name_(std::move(name)) {
  openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj",
           "/CN=" + name_, "-addext", "keyUsage=critical,keyCertSign", "-keyout", folder_.path(name_ + ".key"), "-out",
           certificate()});
}

void TestAuthority::issue(const Request& request) const {
  std::vector<std::string> arguments{"req", "-x509", "-" + request.digest, "-newkey", request.key_type};
  if (request.key_type == "ec") arguments.insert(arguments.end(), {"-pkeyopt", "ec_paramgen_curve:P-256"});
  arguments.insert(arguments.end(), {"-nodes", "-days", std::to_string(request.days), "-subj", "/CN=" + request.name,
                                     "-CA", certificate(), "-CAkey", folder_.path(name_ + ".key"), "-addext",
                                     "basicConstraints=critical,CA:FALSE", "-keyout",
                                     folder_.path(request.name + ".key"), "-out", folder_.path(request.name + ".pem")});
  if (!request.sans.empty()) arguments.insert(arguments.end(), {"-addext", "subjectAltName=" + request.sans});
  if (!request.usage.empty()) arguments.insert(arguments.end(), {"-addext", "extendedKeyUsage=" + request.usage});
  openssl(arguments);
}

}  // namespace igpu::test
