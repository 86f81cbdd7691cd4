// SPDX-License-Identifier: Apache-2.0
#include "text/text.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "igpu/words.h"

namespace igpu::exporter {
namespace {

constexpr char32_t kReplacement = 0xfffd;

struct Range {
  char32_t first, last;
};

// Combining marks, zero-width and direction marks, variation selectors, tags.
constexpr Range kNoWidth[] = {
    {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},   {0x61c, 0x61c},
    {0x64b, 0x65f},   {0x900, 0x902},   {0x93c, 0x93c},   {0x941, 0x948},   {0xe31, 0xe31},
    {0xe34, 0xe3a},   {0xe47, 0xe4e},   {0x180b, 0x180e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
    {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2028, 0x2029}, {0x2060, 0x206f}, {0x20d0, 0x20ff},
    {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};
// Unicode's East_Asian_Width W and F, in blocks.
constexpr Range kWide[] = {{0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},
                           {0x25fd, 0x25fe},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26a1, 0x26a1},
                           {0x2705, 0x2705},   {0x270a, 0x270b},   {0x2728, 0x2728},   {0x274c, 0x274c},
                           {0x2753, 0x2755},   {0x2795, 0x2797},   {0x2e80, 0x303e},   {0x3041, 0x33ff},
                           {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xa960, 0xa97f},
                           {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6f},
                           {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18cff}, {0x1b000, 0x1b2ff},
                           {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};

template <std::size_t N>
bool is_in(const Range (&ranges)[N], char32_t character) {
  return std::ranges::any_of(ranges,
                             [=](const Range& range) { return character >= range.first && character <= range.last; });
}

// Separators of lines and paragraphs, and what changes the direction of the text after it.
constexpr Range kReordering[] = {{0x61c, 0x61c}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};

class Wrapper {
 public:
  Wrapper(std::string& out, std::size_t indent, std::size_t width) : out_(out), indent_(indent), width_(width) {
    const std::size_t line = out.rfind('\n');
    column_ =
        static_cast<std::size_t>(cell_width(std::string_view(out).substr(line == std::string::npos ? 0 : line + 1)));
  }
  void add(std::string_view piece) {
    const std::size_t blank = first_ ? 0 : 1;
    const auto cells = static_cast<std::size_t>(cell_width(piece));
    if (column_ + blank + cells > width_ && (column_ > indent_ || !first_)) {
      out_ += '\n';
      out_.append(indent_, ' ');
      column_ = indent_;
    } else if (blank > 0) {
      out_ += ' ';
      ++column_;
    }
    out_ += piece;
    column_ += cells;
    first_ = false;
  }

 private:
  std::string& out_;
  const std::size_t indent_;
  const std::size_t width_;
  std::size_t column_;
  bool first_ = true;
};

// Edit distance: letters to change, insert, remove, or swap with their neighbour to turn a into b.
std::size_t distance(std::string_view a, std::string_view b) {
  // of[i][j]: from the first i letters of a to the first j of b.
  std::vector<std::vector<std::size_t>> of(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      of[i][j] = i + j;
      if (i == 0 || j == 0) continue;
      const std::size_t change = of[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      of[i][j] = std::min({change, of[i - 1][j] + 1, of[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        of[i][j] = std::min(of[i][j], of[i - 2][j - 2] + 1);
    }
  }
  return of[a.size()][b.size()];
}

constexpr std::size_t kMaximum = 64;  // a longer word is not a typing error

}  // namespace

bool is_unsafe(char32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x61c && is_in(kReordering, c)); }

char32_t take_character(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  text.remove_prefix(1);
  if (first < 0x80) return first;
  const std::size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  if (first < 0xc2 || first > 0xf4 || text.size() < more) return kReplacement;
  char32_t character = first & (0x3fU >> more);
  for (std::size_t i = 0; i < more; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0U) != 0x80U) return kReplacement;
    character = (character << 6U) | (byte & 0x3fU);
  }
  constexpr char32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  const bool surrogate = character >= 0xd800 && character <= 0xdfff;
  if (character < kLeast[more] || character > 0x10ffff || surrogate) return kReplacement;
  text.remove_prefix(more);
  return character;
}

void append_character(std::string& out, char32_t character) {
  const auto byte = [&out](std::uint32_t value) { out += static_cast<char>(value); };
  if (character < 0x80) return byte(character);
  if (character < 0x800) {
    byte(0xc0U | (character >> 6U));
  } else {
    if (character < 0x10000) {
      byte(0xe0U | (character >> 12U));
    } else {
      byte(0xf0U | (character >> 18U));
      byte(0x80U | ((character >> 12U) & 0x3fU));
    }
    byte(0x80U | ((character >> 6U) & 0x3fU));
  }
  byte(0x80U | (character & 0x3fU));
}

int cell_width(char32_t character) {
  if (character < 0x300) return 1;
  if (is_in(kNoWidth, character)) return 0;
  return is_in(kWide, character) ? 2 : 1;
}

int cell_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) width += cell_width(take_character(text));
  return width;
}

std::string clean_text(std::string_view text, std::size_t max_bytes) {
  std::string out;
  while (!text.empty()) {
    const std::size_t before = out.size();
    const char32_t character = take_character(text);
    if (is_unsafe(character)) {
      out += kUnsafeShown;
    } else if (cell_width(character) > 0) {
      append_character(out, character);
    }
    if (out.size() > max_bytes) {
      out.resize(before);
      break;
    }
  }
  return out;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) append_character(out, take_character(text));
  return out;
}

std::string cut_to_cells(std::string_view text, int cells) {
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view after = rest;
    cells -= cell_width(take_character(after));
    if (cells < 0) break;
    rest = after;
  }
  return std::string(text.substr(0, text.size() - rest.size()));
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  const auto cells = static_cast<std::size_t>(cell_width(text));
  if (cells < width) out.append(width - cells, ' ');
  return out;
}

std::string html_escaped(std::string_view text) {
  struct Escape {
    char32_t character;
    std::string_view text;
  };
  constexpr Escape kEscapes[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const char32_t character = take_character(text);
    const auto* const escape = std::ranges::find(kEscapes, character, &Escape::character);
    if (escape != std::end(kEscapes))
      out += escape->text;
    else if (is_unsafe(character) && character != '\n')
      out += kUnsafeShown;
    else
      append_character(out, character);
  }
  return out;
}

void append_wrapped(std::string& out, std::string_view text, std::size_t indent, std::size_t width) {
  Wrapper wrapper(out, indent, width);
  while (!text.empty()) {
    if (const std::string_view word = take_until(text, ' '); !word.empty()) wrapper.add(word);
  }
}

void append_wrapped(std::string& out, const std::vector<std::string>& items, std::size_t indent, std::size_t width) {
  Wrapper wrapper(out, indent, width);
  for (std::size_t i = 0; i < items.size(); ++i) wrapper.add(items[i] + (i + 1 < items.size() ? "," : ""));
}

std::string formatted(const char* format, ...) {
  std::array<char, 256> text{};
  std::va_list values;
  va_start(values, format);
  (void)std::vsnprintf(text.data(), text.size(), format, values);
  va_end(values);
  return text.data();
}

std::string utc_text(std::time_t unix_seconds, const char* format) {
  // Not gmtime_r(), which reads the file of the local time zone at its first call: in the sandbox that fails.
  using namespace std::chrono;
  const sys_seconds time{seconds(unix_seconds)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss of_day(time - day);
  std::tm utc{};
  utc.tm_year = static_cast<int>(date.year()) - 1900;
  utc.tm_mon = static_cast<int>(static_cast<unsigned>(date.month())) - 1;
  utc.tm_mday = static_cast<int>(static_cast<unsigned>(date.day()));
  utc.tm_hour = static_cast<int>(of_day.hours().count());
  utc.tm_min = static_cast<int>(of_day.minutes().count());
  utc.tm_sec = static_cast<int>(of_day.seconds().count());
  utc.tm_wday = static_cast<int>(weekday(day).c_encoding());
  utc.tm_yday = static_cast<int>((day - sys_days(date.year() / January / 1)).count());
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &utc)};
}

std::string time_text(std::chrono::system_clock::time_point time) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count();
  return utc_text(ms / 1000, "%Y-%m-%dT%H:%M:%S.") + formatted("%03dZ", static_cast<int>(ms % 1000));
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > kMaximum) return {};
  const std::string* best = nullptr;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t d = distance(word, candidate);
    if (d < best_distance) {
      best = &candidate;
      best_distance = d;
    }
  }
  return best == nullptr ? std::string() : *best;
}

}  // namespace igpu::exporter
