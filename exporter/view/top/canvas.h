// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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

// The cells of a screen. Text that does not fit is cut off. A canvas without a fixed height grows downwards.
class Canvas {
 public:
  explicit Canvas(Size size);  // height 0: grows with its contents

  int width() const { return width_; }
  int height() const { return static_cast<int>(rows_.size()); }
  const std::vector<Cell>& row(int y) const { return rows_[static_cast<std::size_t>(y)]; }

  // Writes one line and returns the column after it. Stops before column `end`; -1: at the edge of the canvas.
  int put(int x, int y, std::string_view text, Style style = Style::plain, int end = -1);
  // Like put(), but a name that is cut off ends with an ellipsis.
  int put_name(int x, int y, std::string_view text, Style style = Style::plain, int end = -1);
  // Like put(), but writes only whole words of a sentence, so that no number loses digits.
  int put_words(int x, int y, std::string_view text, Style style = Style::plain, int end = -1);
  // Text that continues on the next lines, from column x on, between words where there are any. Returns the line after
  // it.
  int put_wrapped(int x, int y, std::string_view text, Style style = Style::plain);
  // Writes the text so that it ends before column `end`.
  void put_right(int end, int y, std::string_view text, Style style = Style::plain);
  void put(int x, int y, char32_t character, Style style);
  void erase_word(int x, int y);  // erases the word that ends just before column x
  void fill(int y, Style style);  // sets the style of a whole row
  void restyle(int x, int end, int y, Style style);
  void to_ascii();  // replaces characters that are not ASCII: an ellipsis by a tilde, others by a question mark

  std::string row_text(int y) const;  // without trailing blanks
  std::string text() const;           // all rows, each with a line feed

 private:
  bool has_row(int y);

  int width_;
  bool grows_;
  std::vector<std::vector<Cell>> rows_;
};

// The canvas as lines with colours, for a terminal that scrolls.
std::string ansi_text(const Canvas& canvas);

// Short texts for values; no number that a page may hold makes them long. A missing value is "-".

std::string percent(std::optional<double> ratio);       // "34.5%", "100%"
std::string percent_cell(std::optional<double> ratio);  // "34.5", "100"; up to "9999"
std::string short_bytes(std::optional<double> bytes);   // "380M", "5.3G"
std::string tenths(double value);                       // "178.3", "1240"
std::string whole(double value);                        // "1950"

struct ColumnSpace {
  int width = 0;  // including the gap beside the column
  int rank = 0;   // the column with the highest rank is dropped first; 0: never dropped
};

// Which columns are shown in a line of `room` cells. A column that does not fit is dropped as a whole, because part of
// a number is a wrong number.
std::vector<bool> fitting_columns(std::span<const ColumnSpace> columns, int room);

}  // namespace igpu::exporter::top
