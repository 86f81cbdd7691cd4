// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "cli/options.h"
#include "igpu/options.h"
#include "igpu/unique_fd.h"
#include "text/text.h"

namespace igpu::exporter {
namespace {

// A mistake on the command line is not a problem of every host.
void require_readable(const std::string& flag, const std::string& path) {
  if (path.empty()) return;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat facts {};
  int error = file && ::fstat(file.get(), &facts) == 0 ? 0 : errno;
  if (error == 0 && S_ISDIR(facts.st_mode)) error = EISDIR;
  if (error != 0) throw OptionError(flag, path + ": " + std::generic_category().message(error));
}

}  // namespace

ClientOptions checked_client_options(ClientOptions client) {
  require_readable("cacert", client.cacert);
  require_readable("cert", client.cert);
  require_readable("key", client.key);
  if (client.user.empty() || client.user.find(':') != std::string::npos || ::isatty(STDIN_FILENO) != 1) return client;
  const std::string prompt = "Password of " + clean_text(client.user) + ": ";
  if (const char* password = ::getpass(prompt.c_str())) client.user += ":" + std::string(password);
  return client;
}

}  // namespace igpu::exporter
