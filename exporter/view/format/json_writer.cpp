// SPDX-License-Identifier: Apache-2.0
#include "view/format/json_writer.h"

#include <cmath>

#include "text/ascii.h"
#include "text/formatted.h"
#include "text/unicode.h"
#include "view/format/number.h"

namespace igpu::exporter {

void append_json_string(std::string& out, std::string_view text) {
  std::string valid;
  if (!is_ascii(text)) text = valid = valid_utf8(text);
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void JsonWriter::separate() {
  if (out_.empty()) return;
  if (out_.back() == ':') {
    if (indented_) out_ += ' ';
    return;
  }
  if (out_.back() != '{' && out_.back() != '[') out_ += ',';
  break_line();
}

void JsonWriter::break_line() {
  if (!indented_) return;
  out_ += '\n';
  out_.append(level_, '\t');
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  ++level_;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  --level_;
  if (indented_ && out_.back() == '{') out_ += '\n';  // of an empty object, as in intel_gpu_top
  break_line();
  out_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::name(std::string_view name) {
  separate();
  append_json_string(out_, name);
  out_ += ':';
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_json_string(out_, text);
  return *this;
}

JsonWriter& JsonWriter::value(bool truth) {
  separate();
  out_ += truth ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::value(std::uint64_t number) {
  separate();
  out_ += std::to_string(number);
  return *this;
}

JsonWriter& JsonWriter::value(int number) {
  separate();
  out_ += std::to_string(number);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  separate();
  append_number(out_, number);
  return *this;
}

JsonWriter& JsonWriter::value(std::chrono::system_clock::time_point time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  separate();
  out_ += std::to_string(ms / 1000) + formatted(".%03d", static_cast<int>(ms % 1000));
  return *this;
}

JsonWriter& JsonWriter::fixed(double number) {
  separate();
  append_fixed(out_, number);
  return *this;
}

JsonWriter& JsonWriter::null() {
  separate();
  out_ += "null";
  return *this;
}

}  // namespace igpu::exporter
