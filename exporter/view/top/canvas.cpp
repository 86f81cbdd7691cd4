// SPDX-License-Identifier: Apache-2.0
#include "view/top/canvas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "text/text.h"

namespace igpu::exporter::top {
namespace {

// In the order of Style; the looks of the full-screen view.
constexpr std::array<std::string_view, 13> kCodes{"0",   "0;2",  "0;1",  "0;7",  "0;32", "0;1;33", "0;1;31",
                                                  "0;7", "0;36", "0;33", "0;32", "0;35", "0;1;34"};

constexpr char32_t kEllipsis = U'\u2026';

constexpr double kHuge = 99'999'999;

std::string printed(double value, int decimals) {
  return formatted("%.*f", decimals, std::clamp(value, -kHuge, kHuge));
}

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

Canvas::Canvas(Size size) : width_(std::max(size.width, 1)), grows_(size.height <= 0) {
  if (!grows_) rows_.assign(static_cast<std::size_t>(size.height), std::vector<Cell>(static_cast<std::size_t>(width_)));
}

bool Canvas::has_row(int y) {
  if (y < 0) return false;
  const auto wanted = static_cast<std::size_t>(y) + 1;
  if (grows_ && rows_.size() < wanted) rows_.resize(wanted, std::vector<Cell>(static_cast<std::size_t>(width_)));
  return rows_.size() >= wanted;
}

void Canvas::put(int x, int y, char32_t character, Style style) {
  if (!has_row(y) || x < 0) return;
  const int cells = cell_width(character);
  if (cells == 0 || x + cells > width_) return;
  auto& row = rows_[static_cast<std::size_t>(y)];
  row[static_cast<std::size_t>(x)] = {character, style};
  if (cells == 2) row[static_cast<std::size_t>(x) + 1] = {0, style};
}

int Canvas::put(int x, int y, std::string_view text, Style style, int end) {
  const int limit = end < 0 ? width_ : std::min(end, width_);
  while (!text.empty()) {
    const char32_t character = take_character(text);
    const int cells = cell_width(character);
    if (x + cells > limit) break;
    put(x, y, character, style);
    x += cells;
  }
  return x;
}

int Canvas::put_name(int x, int y, std::string_view text, Style style, int end) {
  const int limit = end < 0 ? width_ : std::min(end, width_);
  if (x + cell_width(text) <= limit) return put(x, y, text, style);
  if (x >= limit) return x;
  x = put(x, y, text, style, limit - 1);
  put(x, y, kEllipsis, style);
  return x + 1;
}

int Canvas::put_words(int x, int y, std::string_view text, Style style, int end) {
  const int limit = end < 0 ? width_ : std::min(end, width_);
  std::size_t length = text.size();
  while (length > 0 && x + cell_width(text.substr(0, length)) > limit) {
    const std::size_t blank = text.rfind(' ', length - 1);
    length = blank == std::string_view::npos ? 0 : blank;
  }
  return put(x, y, text.substr(0, length), style);
}

int Canvas::put_wrapped(int x, int y, std::string_view text, Style style) {
  while (!text.empty()) {
    std::string_view part = text;
    int end = x;
    std::size_t length = 0, blank = 0;
    while (!part.empty()) {
      const std::string_view at = part;
      end += cell_width(take_character(part));
      if (end > width_) break;
      length = text.size() - part.size();
      if (at.front() == ' ') blank = length;
    }
    if (length == 0) break;
    if (length < text.size() && blank > 0) length = blank;
    (void)put(x, y++, text.substr(0, length), style);
    text.remove_prefix(length);
  }
  return y;
}

void Canvas::erase_word(int x, int y) {
  if (!has_row(y)) return;
  auto& row = rows_[static_cast<std::size_t>(y)];
  for (int i = std::min(x, width_) - 1; i >= 0 && row[static_cast<std::size_t>(i)].character != U' '; --i)
    row[static_cast<std::size_t>(i)] = {};
}

void Canvas::put_right(int end, int y, std::string_view text, Style style) {
  (void)put(std::max(end - cell_width(text), 0), y, text, style, end);
}

void Canvas::fill(int y, Style style) { restyle(0, width_, y, style); }

void Canvas::restyle(int x, int end, int y, Style style) {
  if (!has_row(y)) return;
  auto& row = rows_[static_cast<std::size_t>(y)];
  for (int i = std::max(x, 0); i < std::min(end, width_); ++i) row[static_cast<std::size_t>(i)].style = style;
}

void Canvas::to_ascii() {
  for (auto& row : rows_) {
    for (Cell& cell : row) {
      if (cell.character == kEllipsis) cell.character = U'~';
      if (cell.character == 0 || cell.character > U'~') cell.character = U'?';
    }
  }
}

std::string Canvas::row_text(int y) const {
  std::string out;
  for (const Cell& cell : row(y)) {
    if (cell.character != 0) append_character(out, cell.character);
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

std::string Canvas::text() const {
  std::string out;
  for (int y = 0; y < height(); ++y) out += row_text(y) + '\n';
  return out;
}

std::string percent_cell(std::optional<double> ratio) {
  if (!ratio) return "-";
  const double value = std::clamp(*ratio, 0.0, 99.99) * 100;
  return printed(value, value < 99.95 ? 1 : 0);
}

std::string percent(std::optional<double> ratio) { return ratio ? percent_cell(ratio) + "%" : "-"; }

std::string short_bytes(std::optional<double> bytes) {
  if (!bytes) return "-";
  constexpr std::array<const char*, 6> kUnits{"B", "K", "M", "G", "T", "P"};
  double value = std::max(*bytes, 0.0);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  if (value >= 999.5) return ">999P";
  return printed(value, unit >= 2 && value < 9.95 ? 1 : unit >= 3 && value < 99.95 ? 1 : 0) + kUnits[unit];
}

std::string tenths(double value) { return printed(value, std::abs(value) < 999.95 ? 1 : 0); }

std::string whole(double value) { return printed(value + 0.0, 0); }

std::vector<bool> fitting_columns(std::span<const ColumnSpace> columns, int room) {
  std::vector<bool> shown(columns.size(), true);
  int wanted = 0;
  for (const ColumnSpace& column : columns) wanted += column.width;
  while (wanted > room) {
    std::size_t least = columns.size();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!shown[i] || columns[i].rank == 0) continue;
      if (least == columns.size() || columns[i].rank > columns[least].rank) least = i;
    }
    if (least == columns.size()) break;
    shown[least] = false;
    wanted -= columns[least].width;
  }
  return shown;
}

}  // namespace igpu::exporter::top
