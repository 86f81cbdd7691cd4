// SPDX-License-Identifier: Apache-2.0
#include "igpu/json_strings.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "base/scan.h"

namespace igpu {
namespace {

constexpr std::size_t kDeepest = 32;

void append_utf8(std::string& out, std::uint32_t code) {
  const auto add = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6);
    add(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  } else {
    add(0xf0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  }
}

class Reader {
 public:
  Reader(std::string_view text, const JsonVisit& strings, const JsonVisit& words)
      : rest_(text), strings_(strings), words_(words) {}

  bool read() {
    if (!value()) return false;
    skip_blanks();
    return rest_.empty();
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
  }
  bool skip_if(char c) {
    skip_blanks();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool value() {
    skip_blanks();
    if (rest_.empty()) return false;
    switch (rest_.front()) {
      case '{': return object();
      case '[': return array();
      case '"': {
        const auto text = string();
        if (text) strings_(path_, *text);
        return text.has_value();
      }
      default: return word();
    }
  }

  bool object() {
    rest_.remove_prefix(1);
    if (path_.size() == kDeepest) return false;
    if (skip_if('}')) return true;
    do {
      skip_blanks();
      auto key = string();
      if (!key || !skip_if(':')) return false;
      path_.push_back({*std::move(key), 0});
      const bool good = value();
      path_.pop_back();
      if (!good) return false;
    } while (skip_if(','));
    return skip_if('}');
  }

  bool array() {
    rest_.remove_prefix(1);
    if (path_.size() == kDeepest) return false;
    if (skip_if(']')) return true;
    std::size_t index = 0;
    do {
      path_.push_back({{}, index++});
      const bool good = value();
      path_.pop_back();
      if (!good) return false;
    } while (skip_if(','));
    return skip_if(']');
  }

  bool word() {
    std::size_t size = 0;
    const auto belongs = [](char c) {
      return is_digit(c) || (c >= 'a' && c <= 'z') || c == '+' || c == '-' || c == '.' || c == 'E';
    };
    while (size < rest_.size() && belongs(rest_[size])) ++size;
    if (size > 0 && words_) words_(path_, rest_.substr(0, size));
    rest_.remove_prefix(size);
    return size > 0;
  }

  std::optional<std::string> string() {
    if (!rest_.starts_with('"')) return std::nullopt;
    rest_.remove_prefix(1);
    std::string text;
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return text;
      if (static_cast<unsigned char>(c) < ' ') return std::nullopt;
      if (c != '\\') {
        text += c;
      } else if (!escape(text)) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  bool escape(std::string& text) {
    if (rest_.empty()) return false;
    const char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == 'u') return unicode(text);
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kCharacters = "\"\\/\b\f\n\r\t";
    const std::size_t at = kNames.find(c);
    if (at == std::string_view::npos) return false;
    text += kCharacters[at];
    return true;
  }

  std::optional<std::uint32_t> four_digits() {
    std::uint32_t code = 0;
    if (rest_.size() < 4) return std::nullopt;
    for (int i = 0; i < 4; ++i) {
      const auto digit = scan_hex(rest_.substr(0, 1));
      if (!digit) return std::nullopt;
      code = code * 16 + static_cast<std::uint32_t>(*digit);
      rest_.remove_prefix(1);
    }
    return code;
  }

  bool unicode(std::string& text) {
    constexpr std::uint32_t kUnpaired = 0xfffd;
    const auto is_high = [](std::uint32_t code) { return code >= 0xd800 && code < 0xdc00; };
    const auto is_low = [](std::uint32_t code) { return code >= 0xdc00 && code < 0xe000; };
    auto code = four_digits();
    if (!code) return false;
    while (is_high(*code) && rest_.starts_with("\\u")) {
      rest_.remove_prefix(2);
      const auto low = four_digits();
      if (!low) return false;
      if (is_low(*low)) {
        append_utf8(text, 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00));
        return true;
      }
      append_utf8(text, kUnpaired);
      code = low;
    }
    append_utf8(text, is_high(*code) || is_low(*code) ? kUnpaired : *code);
    return true;
  }

  std::string_view rest_;
  const JsonVisit &strings_, &words_;
  std::vector<JsonStep> path_;
};

}  // namespace

bool visit_json_strings(std::string_view text, const JsonVisit& strings, const JsonVisit& words) {
  return Reader(text, strings, words).read();
}

}  // namespace igpu
