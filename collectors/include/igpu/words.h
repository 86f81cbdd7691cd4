// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

// Letters, words and lists of words.
namespace igpu {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_lower_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
constexpr bool is_letter_or_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Takes the text up to the first separator (or all) off the front of rest, and the separator.
constexpr std::string_view take_until(std::string_view& rest, char separator) {
  const std::string_view head = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(head.size() + 1, rest.size()));
  return head;
}

template <class List, class Value>
bool contains(const List& list, const Value& value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

// Without empty words.
template <class List>
std::string joined(const List& words, std::string_view between = ", ", std::string_view before_each = {}) {
  std::string text;
  for (const auto& word : words)
    if (!word.empty()) text.append(text.empty() ? std::string_view() : between).append(before_each).append(word);
  return text;
}

}  // namespace igpu
