// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "igpu/page.h"

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
  JsonWriter& value(bool truth) { return raw(truth ? "true" : "false"); }
  JsonWriter& value(std::uint64_t number) { return raw(std::to_string(number)); }
  JsonWriter& value(int number) { return raw(std::to_string(number)); }
  JsonWriter& value(double number);                               // null if JSON cannot write it
  JsonWriter& value(std::chrono::system_clock::time_point time);  // seconds since 1970, with milliseconds
  JsonWriter& fixed(double number);                               // with six decimals
  JsonWriter& null() { return raw("null"); }
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
  JsonWriter& raw(std::string_view text);  // a value as it stands
  void separate();
  void break_line();

  bool indented_;
  std::size_t level_ = 0;
  std::string out_;
};

// One scrape as one line of JSON, for `stats --format json`:
//
//   {"version":1,
//    "time":1754000000.123,
//    "gpus":[{"device":"0000:03:00.0",
//             "metrics":{"intel_gpu_engine_busy_ratio":[{"gt":"0","engine":"rcs0","class":"render","source":"pmu","value":0.25}],
//                        "intel_gpu_runtime_suspended":[{"value":0}]}}],
//    "metrics":{"intel_gpu_exporter_devices":[{"value":1}]}}
//
// Names, labels and units are those of /metrics. A series with a device label is listed under its GPU, without that
// label; all others under the outer "metrics". Each name holds a list, even of one series. GPUs are sorted by address.
// Unknown values are omitted; a value that JSON cannot express (NaN, infinity) is null. docs/stats.schema.json is the
// schema of the line.

// The members of the line's object, which is open.
void write_reading(JsonWriter& json, const PageView& page, std::chrono::system_clock::time_point time);

// Appends the line and its newline to out.
void write_json_line(const PageView& page, std::chrono::system_clock::time_point time, std::string& out);

}  // namespace igpu::exporter
