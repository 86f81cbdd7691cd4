// SPDX-License-Identifier: Apache-2.0
#include <nss.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "setup/static_file/documents.h"
#include "static_file/embedded/terminals.h"

namespace igpu::exporter {
namespace {

bool is_described(const std::string& terminal) {
  for (const char* const variable : {"TERMINFO", "TERMINFO_DIRS"}) {
    const char* const own = std::getenv(variable);
    if (own != nullptr && *own != '\0') return true;
  }
  for (const char* const folder : {"/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo", "/usr/lib/terminfo"}) {
    std::error_code none;
    if (std::filesystem::exists(std::filesystem::path(folder) / terminal.substr(0, 1) / terminal, none)) return true;
  }
  return false;
}

}  // namespace

void begin_static_program() {
  (void)::__nss_configure_lookup("hosts", "files dns");
  (void)::setenv("OPENSSL_CONF", "/dev/null", 1);  // the machine's may name modules
  const char* const name = std::getenv("TERM");
  const std::string terminal = name == nullptr ? "" : name;
  if (terminal.empty() || terminal.find('/') != std::string::npos || is_described(terminal)) return;
  for (const auto& [known, description] : kTerminals)
    if (known == terminal) (void)::setenv("TERMINFO", description, 0);
}

}  // namespace igpu::exporter
