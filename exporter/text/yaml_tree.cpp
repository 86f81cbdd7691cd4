// SPDX-License-Identifier: Apache-2.0
#include "text/yaml_tree.h"

#include <openssl/crypto.h>
#include <yaml.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <new>
#include <set>

#include "igpu/words.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kMaxSize = 64 << 10;
constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMostOpenBrackets = 1000;

bool control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

std::string_view view(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

std::size_t line_of(const yaml_mark_t& mark) { return mark.line + 1; }

// The unquoted spellings of null.
bool is_null(std::string_view text) {
  return contains(std::array<std::string_view, 5>{"", "~", "null", "Null", "NULL"}, text);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {
    if (yaml_parser_initialize(&parser_) != 1) throw std::bad_alloc();
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~Parser() { yaml_parser_delete(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  void load(yaml_document_t& document) {
    if (yaml_parser_load(&parser_, &document) != 1) fail();
  }

 private:
  [[noreturn]] void fail() const {
    if (parser_.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
    const std::string problem = parser_.problem == nullptr ? "broken YAML" : parser_.problem;
    if (parser_.error == YAML_READER_ERROR) {
      const std::string_view before = text_.substr(0, std::min(parser_.problem_offset, text_.size()));
      throw YamlError(1 + static_cast<std::size_t>(std::ranges::count(before, '\n')), problem);
    }
    throw YamlError(line_of(parser_.problem_mark),
                    problem + (parser_.context == nullptr ? "" : std::string(", ") + parser_.context));
  }

  std::string_view text_;
  yaml_parser_t parser_{};
};

// The next document, whose texts are wiped with it; without a root at the end.
class Document {
 public:
  explicit Document(Parser& parser) { parser.load(document_); }
  ~Document() {
    for (yaml_node_t* node = document_.nodes.start; node != document_.nodes.top; ++node)
      if (node->type == YAML_SCALAR_NODE) OPENSSL_cleanse(node->data.scalar.value, node->data.scalar.length);
    yaml_document_delete(&document_);
  }
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  bool has_root() const { return document_.nodes.start != document_.nodes.top; }
  std::size_t line() const { return line_of(document_.start_mark); }

  std::shared_ptr<const YamlNode> tree() {
    built_.resize(static_cast<std::size_t>(document_.nodes.top - document_.nodes.start));
    return built(1);
  }

 private:
  // number: libyaml's, from 1. An alias is another use of the node that it names.
  std::shared_ptr<const YamlNode> built(int number) {
    const auto index = static_cast<std::size_t>(number - 1);
    if (built_[index]) return built_[index];
    const yaml_node_t& from = document_.nodes.start[index];
    const std::size_t line = line_of(from.start_mark);
    if (contains(path_, number)) throw YamlError(line, "an alias in here names the node that contains it");
    if (from.type != YAML_SCALAR_NODE && path_.size() >= kMaxDepth) throw YamlError(line, "nested too deeply");
    auto node = std::make_shared<YamlNode>();
    node->line = line;
    path_.push_back(number);
    if (from.type == YAML_SCALAR_NODE) {
      read_scalar(from, *node);
    } else if (from.type == YAML_SEQUENCE_NODE) {
      check_tag(from, {YAML_SEQ_TAG});
      node->kind = YamlNode::Kind::sequence;
      const auto& items = from.data.sequence.items;
      for (const yaml_node_item_t* item = items.start; item != items.top; ++item) node->items.push_back(built(*item));
    } else {
      check_tag(from, {YAML_MAP_TAG});
      node->kind = YamlNode::Kind::mapping;
      read_entries(from, *node);
    }
    path_.pop_back();
    return built_[index] = node;
  }

  static void read_scalar(const yaml_node_t& from, YamlNode& node) {
    check_tag(from, {YAML_STR_TAG, YAML_BOOL_TAG, YAML_INT_TAG, YAML_NULL_TAG});
    const std::string_view text(reinterpret_cast<const char*>(from.data.scalar.value), from.data.scalar.length);
    const std::string_view tag = view(from.tag);
    const bool plain = from.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (tag == YAML_NULL_TAG || (plain && tag == YAML_STR_TAG && is_null(text))) return;
    node.kind = YamlNode::Kind::scalar;
    node.plain = plain || tag != YAML_STR_TAG;
    node.text = text;
  }

  void read_entries(const yaml_node_t& from, YamlNode& node) {
    std::set<std::string_view> keys;
    const auto& pairs = from.data.mapping.pairs;
    for (const yaml_node_pair_t* pair = pairs.start; pair != pairs.top; ++pair) {
      const std::shared_ptr<const YamlNode> key = built(pair->key);
      check_key(*key);
      if (!keys.insert(key->text).second)
        throw YamlError(key->line, "the key " + in_quotes(key->text) + " occurs twice");
      node.entries.push_back({key->text, key->line, built(pair->value)});
    }
  }

  static void check_tag(const yaml_node_t& from, std::initializer_list<std::string_view> known) {
    if (!contains(known, view(from.tag)))
      throw YamlError(line_of(from.start_mark), "the tag " + in_quotes(view(from.tag)) + " is not supported");
  }

  static void check_key(const YamlNode& key) {
    if (key.kind == YamlNode::Kind::null)
      throw YamlError(key.line, "a key is null: write its name, in quotes if it is \"null\" or \"~\"");
    if (key.kind != YamlNode::Kind::scalar) throw YamlError(key.line, "a key must be text");
    if (key.plain && key.text == "<<")
      throw YamlError(key.line, "the merge key \"<<\" is not supported: write out the keys that it merges");
  }

  yaml_document_t document_{};
  std::vector<std::shared_ptr<const YamlNode>> built_;  // by number
  std::vector<int> path_;                               // from the root to the node that is being built
};

// libyaml's time grows with the square of this depth.
bool has_many_open_brackets(std::string_view text) {
  std::size_t open = 0, most = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') most = std::max(most, ++open);
    if ((c == ']' || c == '}') && open > 0) --open;
  }
  return most > kMostOpenBrackets;
}

}  // namespace

YamlNode::~YamlNode() { OPENSSL_cleanse(text.data(), text.size()); }

std::shared_ptr<const YamlNode> parse_yaml(std::string_view text) {
  if (text.size() > kMaxSize) throw YamlError(1, "the file is larger than 64 KiB");
  if (has_many_open_brackets(text)) throw YamlError(1, "nested too deeply");
  Parser parser(text.empty() ? std::string_view("") : text);  // libyaml does not accept a null pointer
  Document document(parser);
  if (!document.has_root()) return std::make_shared<const YamlNode>();
  if (const Document second(parser); second.has_root())
    throw YamlError(second.line(), "a second document begins here; only one is supported");
  return document.tree();
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::size_t shown = std::min(kLongest, text.size());
  while (shown < text.size() && shown > 0 && (static_cast<unsigned char>(text[shown]) & 0xC0U) == 0x80) --shown;
  std::string out(text.substr(0, shown));
  std::ranges::replace_if(out, control, '?');
  return '"' + out + (shown < text.size() ? "...\"" : "\"");
}

}  // namespace igpu::exporter
