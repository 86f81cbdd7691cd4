// SPDX-License-Identifier: Apache-2.0
#include "top/ansi_text.h"

#include <array>
#include <string_view>

#include "text/unicode.h"

namespace igpu::exporter::top {
namespace {

// In the order of Style; the looks of the full-screen view.
constexpr std::array<std::string_view, 13> kCodes{"0",   "0;2",  "0;1",  "0;7",  "0;32", "0;1;33", "0;1;31",
                                                  "0;7", "0;36", "0;33", "0;32", "0;35", "0;1;34"};

}  // namespace

std::string ansi_text(const Canvas& canvas) {
  std::string out;
  for (int y = 0; y < canvas.height(); ++y) {
    const std::vector<Cell>& row = canvas.row(y);
    std::size_t end = row.size();
    while (end > 0 && row[end - 1] == Cell{}) --end;
    Style style = Style::plain;
    for (std::size_t x = 0; x < end; ++x) {
      if (row[x].character == 0) continue;
      if (row[x].style != style) {
        style = row[x].style;
        out.append("\033[").append(kCodes[static_cast<std::size_t>(style)]).append("m");
      }
      append_character(out, row[x].character);
    }
    if (style != Style::plain) out += "\033[0m";
    out += '\n';
  }
  return out;
}

}  // namespace igpu::exporter::top
