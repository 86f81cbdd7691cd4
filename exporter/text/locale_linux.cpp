// SPDX-License-Identifier: Apache-2.0
#include <langinfo.h>

#include <clocale>
#include <cstdlib>
#include <string_view>

#include "text/locale.h"

namespace igpu::exporter {

#ifdef IGPU_STATIC

// The machine's locales may belong to another C library. Where it has no C.UTF-8 that this one reads, text is ASCII.
bool select_character_set() {
  for (const char* const variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale(value);
    for (const std::string_view utf8 : {"UTF-8", "utf8", "utf-8", "UTF8"})
      if (locale.find(utf8) != std::string_view::npos) return std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr;
    return false;
  }
  return false;
}

#else

bool select_character_set() {
  (void)std::setlocale(LC_CTYPE, "");
  return std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
}

#endif

}  // namespace igpu::exporter
