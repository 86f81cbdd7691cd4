// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace igpu::exporter::top {

enum class Style : std::uint8_t {
  plain,
  dim,     // labels, what is missing
  strong,  // titles
  bar_title,
  good,
  warning,
  alarm,
  selected,
  render,  // one for each engine class, in the order of kEngineClasses
  copy,
  video,
  video_enhance,
  compute,
};

struct Cell {
  char32_t character = U' ';  // 0: the right half of a wide character
  Style style = Style::plain;
  bool operator==(const Cell&) const = default;
};

struct Size {
  int width = 80, height = 24;
  bool operator==(const Size&) const = default;
};

// The cells of a screen. What does not fit is cut off. Grows downwards if it has no height of its own.
class Canvas {
 public:
  explicit Canvas(Size size);  // height 0: as high as its contents

  int width() const { return width_; }
  int height() const { return static_cast<int>(rows_.size()); }
  const std::vector<Cell>& row(int y) const { return rows_[static_cast<std::size_t>(y)]; }

  // Writes one line; returns the column after it. Stops before column `end`, if that is given.
  int put(int x, int y, std::string_view text, Style style = Style::plain, int end = -1);
  // The same for a name: one that is cut off ends with an ellipsis.
  int put_name(int x, int y, std::string_view text, Style style = Style::plain, int end = -1);
  // The same for a sentence: only whole words, so that no number loses digits.
  int put_words(int x, int y, std::string_view text, Style style = Style::plain, int end = -1);
  // So that the text ends before column `end`.
  void put_right(int end, int y, std::string_view text, Style style = Style::plain);
  void put(int x, int y, char32_t character, Style style);
  void erase_word(int x, int y);  // the rest of a word that ends or goes on at column x
  void fill(int y, Style style);  // the style of a whole row
  void restyle(int x, int end, int y, Style style);
  void to_ascii();  // each cell of another character becomes a question mark; an ellipsis a tilde

  std::string row_text(int y) const;  // without blanks at its end
  std::string text() const;           // all rows, each with a line feed

 private:
  bool has_row(int y);

  int width_;
  bool grows_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace igpu::exporter::top
