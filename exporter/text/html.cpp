// SPDX-License-Identifier: Apache-2.0
#include "text/html.h"

#include "text/unicode.h"

namespace igpu::exporter {

std::string html_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const char32_t character = take_character(text);
    switch (character) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if (is_unsafe(character) && character != '\n')
          out += kUnsafeShown;
        else
          append_character(out, character);
    }
  }
  return out;
}

}  // namespace igpu::exporter
