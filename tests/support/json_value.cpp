// SPDX-License-Identifier: Apache-2.0
#include "support/json_value.h"

#include <stdexcept>

namespace igpu::test {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  JsonValue document() {
    JsonValue value = read();
    skip_blanks();
    if (at_ != text_.size()) fail();
    return value;
  }

 private:
  [[noreturn]] void fail() const { throw std::runtime_error("no JSON at " + std::to_string(at_)); }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail();
  }
  bool take_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  JsonValue read() {
    skip_blanks();
    JsonValue value;
    if (take('{')) {
      value.type = JsonValue::Type::object;
      if (take('}')) return value;
      do {
        skip_blanks();
        std::string name = read_string();
        expect(':');
        value.members.emplace(std::move(name), read());
      } while (take(','));
      expect('}');
    } else if (take('[')) {
      value.type = JsonValue::Type::array;
      if (take(']')) return value;
      do value.items.push_back(read());
      while (take(','));
      expect(']');
    } else if (peek() == '"') {
      value.type = JsonValue::Type::string;
      value.text = read_string();
    } else if (take_word("null")) {
      value.type = JsonValue::Type::null;
    } else if (take_word("true") || take_word("false")) {
      value.type = JsonValue::Type::boolean;
      value.text = text_[at_ - 2] == 'u' ? "true" : "false";
    } else {
      value.type = JsonValue::Type::number;
      const std::size_t end = text_.find_first_not_of("+-.eE0123456789", at_);
      value.text = text_.substr(at_, end - at_);
      if (value.text.empty()) fail();
      at_ += value.text.size();
    }
    return value;
  }

  std::string read_string() {
    expect('"');
    std::string out;
    while (peek() != '"') {
      if (at_ >= text_.size()) fail();
      char c = text_[at_++];
      if (c == '\\') {
        c = peek();
        ++at_;
        if (c == 'n') c = '\n';
        if (c == 't') c = '\t';
        if (c == 'r') c = '\r';
        if (c == 'u') {
          const unsigned code = static_cast<unsigned>(std::stoul(std::string(text_.substr(at_, 4)), nullptr, 16));
          at_ += 4;
          if (code >= 0x800) {
            out += static_cast<char>(0xe0 | (code >> 12));
            out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
            c = static_cast<char>(0x80 | (code & 0x3f));
          } else if (code >= 0x80) {
            out += static_cast<char>(0xc0 | (code >> 6));
            c = static_cast<char>(0x80 | (code & 0x3f));
          } else {
            c = static_cast<char>(code);
          }
        }
      }
      out += c;
    }
    ++at_;
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

const JsonValue& JsonValue::operator[](const std::string& name) const {
  static const JsonValue kNull;
  const auto it = members.find(name);
  return it == members.end() ? kNull : it->second;
}

JsonValue parse_json(std::string_view text) { return Reader(text).document(); }

}  // namespace igpu::test
