// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace igpu::exporter {

// Appends text as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

// Writes JSON in order. It adds commas and quotes; the caller must name the members of objects.
class JsonWriter {
 public:
  enum class Layout { one_line, indented };  // indented: a line for each member, behind a tab for each level

  explicit JsonWriter(Layout layout = Layout::one_line) : indented_(layout == Layout::indented) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& name(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool truth);
  JsonWriter& value(std::uint64_t number);
  JsonWriter& value(int number);
  JsonWriter& value(double number);                               // null if JSON cannot write it
  JsonWriter& value(std::chrono::system_clock::time_point time);  // seconds since 1970, with milliseconds
  JsonWriter& fixed(double number);                               // with six decimals
  JsonWriter& null();
  template <class T>
  JsonWriter& member(std::string_view key, const T& content) {
    return name(key).value(content);
  }

  template <class Values>
  JsonWriter& array(const Values& values) {
    begin_array();
    for (const auto& each : values) value(each);
    return end_array();
  }

  std::string take() { return std::move(out_); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();
  void break_line();

  bool indented_;
  std::size_t level_ = 0;
  std::string out_;
};

}  // namespace igpu::exporter
