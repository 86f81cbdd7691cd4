// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace igpu::test {

// A JSON value as far as tests need it. Numbers stay text: some are larger than a double holds exactly.
struct JsonValue {
  enum class Type { null, boolean, number, string, array, object };
  Type type = Type::null;
  std::string text;  // number, string; "true"/"false"
  std::vector<JsonValue> items;
  std::map<std::string, JsonValue> members;

  bool is_null() const { return type == Type::null; }
  bool has(const std::string& name) const { return members.contains(name); }
  // null for a member that is not there
  const JsonValue& operator[](const std::string& name) const;
};

// Throws std::runtime_error for text that is no JSON.
JsonValue parse_json(std::string_view text);

}  // namespace igpu::test
