// SPDX-License-Identifier: Apache-2.0
#include "text/wrap.h"

#include <algorithm>

#include "text/ascii.h"

namespace igpu::exporter {

std::size_t text_width(std::string_view text) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
}

namespace {

class Wrapper {
 public:
  Wrapper(std::string& out, std::size_t indent, std::size_t width) : out_(out), indent_(indent), width_(width) {
    const std::size_t line = out.rfind('\n');
    column_ = text_width(std::string_view(out).substr(line == std::string::npos ? 0 : line + 1));
  }
  void add(std::string_view piece) {
    const std::size_t blank = first_ ? 0 : 1;
    if (column_ + blank + text_width(piece) > width_ && (column_ > indent_ || !first_)) {
      out_ += '\n';
      out_.append(indent_, ' ');
      column_ = indent_;
    } else if (blank > 0) {
      out_ += ' ';
      ++column_;
    }
    out_ += piece;
    column_ += text_width(piece);
    first_ = false;
  }

 private:
  std::string& out_;
  const std::size_t indent_;
  const std::size_t width_;
  std::size_t column_;
  bool first_ = true;
};

}  // namespace

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

}  // namespace igpu::exporter
