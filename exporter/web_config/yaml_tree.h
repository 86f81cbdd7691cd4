// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// A YAML document as a tree that knows its line numbers. libyaml reads, and stands behind this header alone.
namespace igpu::exporter {

class YamlError : public std::runtime_error {
 public:
  YamlError(std::size_t line, const std::string& message) : std::runtime_error(message), line_(line) {}
  std::size_t line() const { return line_; }  // from 1

 private:
  std::size_t line_;
};

struct YamlNode {
  enum class Kind { null, scalar, sequence, mapping };
  struct Entry;

  Kind kind = Kind::null;
  std::size_t line = 1;
  bool plain = false;  // a scalar without quotes and without a tag that makes it a string
  std::string text;    // of a scalar
  std::vector<std::shared_ptr<const YamlNode>> items;  // of a sequence
  std::vector<Entry> entries;                          // of a mapping, in order; no key twice

  YamlNode() = default;
  YamlNode(const YamlNode&) = delete;
  YamlNode& operator=(const YamlNode&) = delete;
  ~YamlNode();  // wipes the text: it may be a private key
};

struct YamlNode::Entry {
  std::string key;
  std::size_t line = 1;
  std::shared_ptr<const YamlNode> value;
};

// The one document of the text; a null node if there is nothing in it. Anchors and aliases are followed without copying
// what they name. Throws YamlError: broken syntax, a key twice, a null key, a merge key ("<<"), a second document, an
// alias inside of what it names, more than 16 levels, more than a megabyte, other tags than str, bool, int, null, seq
// and map, text that is neither UTF-8 nor UTF-16 with a byte order mark. What it says quotes keys and tags, never
// values.
std::shared_ptr<const YamlNode> parse_yaml(std::string_view text);

// In double quotes, fit for one line of a log: shortened, control characters as "?".
std::string in_quotes(std::string_view text);

}  // namespace igpu::exporter
