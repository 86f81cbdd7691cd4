// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace igpu {

// One step from the root of a JSON text towards a value: a member's key, or a place in an array (key is "").
struct JsonStep {
  std::string key;
  std::size_t index = 0;
};

using JsonVisit = std::function<void(std::span<const JsonStep> path, std::string_view value)>;

// Calls strings(path, value) for every string value of a JSON text (RFC 8259), in order, and words() for every number,
// true, false and null as it stands. Returns false if the text is malformed or more than 32 levels deep; values before
// that point were visited. An escape that stands for no character becomes U+FFFD.
bool visit_json_strings(std::string_view text, const JsonVisit& strings, const JsonVisit& words = {});

}  // namespace igpu
