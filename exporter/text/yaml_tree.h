// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// A YAML document as a tree with line numbers.
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
  bool plain = false;                                  // an unquoted scalar, or one with the tag bool or int
  std::string text;                                    // of a scalar
  std::vector<std::shared_ptr<const YamlNode>> items;  // of a sequence
  std::vector<Entry> entries;                          // of a mapping, in order; keys are unique

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

// Parses the text's only document; a null node if it is empty. Aliases share the node that they name. Throws YamlError
// for syntax errors, duplicate and null keys, merge keys ("<<"), a second document, an alias inside the node that it
// names, an anchor that is defined twice, more than 16 levels, more than 64 KiB, other tags than str, bool, int, null,
// seq and map, and text that is neither UTF-8 nor UTF-16 with a byte order mark. The tag str does not change what an
// unquoted text means. Messages quote keys and tags, never values.
std::shared_ptr<const YamlNode> parse_yaml(std::string_view text);

// In double quotes, for a log line: shortened, with "?" for control characters.
std::string in_quotes(std::string_view text);

}  // namespace igpu::exporter
