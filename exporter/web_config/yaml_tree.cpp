// SPDX-License-Identifier: Apache-2.0
#include "web_config/yaml_tree.h"

#include <openssl/crypto.h>
#include <yaml.h>

#include <algorithm>
#include <array>
#include <map>
#include <new>
#include <set>

namespace igpu::exporter {
namespace {

constexpr std::size_t kMaxSize = 1U << 20;
constexpr std::size_t kMaxNodes = 100'000;
constexpr std::size_t kMaxDepth = 16;

bool control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

std::string_view view(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

std::size_t line_of(const yaml_mark_t& mark) { return mark.line + 1; }

// The unquoted spellings of null.
bool is_null(std::string_view text) {
  constexpr std::array<std::string_view, 5> kNulls{"", "~", "null", "Null", "NULL"};
  return std::find(kNulls.begin(), kNulls.end(), text) != kNulls.end();
}

// One event; its content is wiped and freed with it.
class Event {
 public:
  explicit Event(yaml_parser_t& parser) : good_(yaml_parser_parse(&parser, &event_) == 1) {}
  ~Event() {
    if (!good_) return;
    if (event_.type == YAML_SCALAR_EVENT) OPENSSL_cleanse(event_.data.scalar.value, event_.data.scalar.length);
    yaml_event_delete(&event_);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  bool good() const { return good_; }
  const yaml_event_t& get() const { return event_; }
  std::size_t line() const { return line_of(event_.start_mark); }

 private:
  yaml_event_t event_{};
  bool good_;
};

class TreeBuilder {
 public:
  std::shared_ptr<const YamlNode> root() const { return root_; }

  void add(const Event& event) {
    const auto& data = event.get().data;
    switch (event.get().type) {
      case YAML_DOCUMENT_START_EVENT:
        if (root_) throw YamlError(event.line(), "a second document begins here; only one is supported");
        break;
      case YAML_ALIAS_EVENT:
        alias(view(data.alias.anchor), event.line());
        break;
      case YAML_SCALAR_EVENT:
        scalar(event);
        break;
      case YAML_SEQUENCE_START_EVENT:
        open(event, YamlNode::Kind::sequence, view(data.sequence_start.tag), YAML_SEQ_TAG,
             view(data.sequence_start.anchor));
        break;
      case YAML_MAPPING_START_EVENT:
        open(event, YamlNode::Kind::mapping, view(data.mapping_start.tag), YAML_MAP_TAG,
             view(data.mapping_start.anchor));
        break;
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        close();
        break;
      default:
        break;
    }
  }

 private:
  struct Open {
    std::shared_ptr<YamlNode> node;
    std::string anchor;
    std::set<std::string, std::less<>> keys;
    bool has_key = false;
    YamlNode::Entry entry;  // of the last key
  };

  void count(std::size_t line) {
    if (++nodes_ > kMaxNodes) throw YamlError(line, "too many values");
  }

  std::shared_ptr<YamlNode> make(std::size_t line, YamlNode::Kind kind) {
    count(line);
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->line = line;
    return node;
  }

  void alias(std::string_view name, std::size_t line) {
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) {
      throw YamlError(line, "the alias " + in_quotes(name) + " names no earlier node, or the one that contains it");
    }
    count(line);
    place(found->second, line);
  }

  void scalar(const Event& event) {
    const auto& data = event.get().data.scalar;
    const std::string_view text(reinterpret_cast<const char*>(data.value), data.length);
    const std::string_view tag = view(data.tag);
    const bool plain = data.style == YAML_PLAIN_SCALAR_STYLE && data.plain_implicit != 0;
    if (!tag.empty() && tag != YAML_STR_TAG && tag != YAML_BOOL_TAG && tag != YAML_INT_TAG && tag != YAML_NULL_TAG) {
      throw YamlError(event.line(), "the tag " + in_quotes(tag) + " is not supported");
    }
    const bool null = tag == YAML_NULL_TAG || (plain && is_null(text));
    const std::shared_ptr<YamlNode> node = make(event.line(), null ? YamlNode::Kind::null : YamlNode::Kind::scalar);
    if (!null) {
      node->plain = plain || tag == YAML_BOOL_TAG || tag == YAML_INT_TAG;
      node->text = text;
    }
    finish(node, view(data.anchor));
  }

  void open(const Event& event, YamlNode::Kind kind, std::string_view tag, std::string_view default_tag,
            std::string_view anchor) {
    if (open_.size() >= kMaxDepth) throw YamlError(event.line(), "nested too deeply");
    if (!tag.empty() && tag != default_tag) {
      throw YamlError(event.line(), "the tag " + in_quotes(tag) + " is not supported");
    }
    if (const auto earlier = anchors_.find(anchor); earlier != anchors_.end()) anchors_.erase(earlier);
    Open& collection = open_.emplace_back();
    collection.node = make(event.line(), kind);
    collection.anchor = anchor;
  }

  void close() {
    const std::shared_ptr<YamlNode> node = open_.back().node;
    const std::string anchor = open_.back().anchor;
    open_.pop_back();
    finish(node, anchor);
  }

  void finish(const std::shared_ptr<const YamlNode>& node, std::string_view anchor) {
    if (!anchor.empty()) anchors_.insert_or_assign(std::string(anchor), node);
    place(node, node->line);
  }

  void place(const std::shared_ptr<const YamlNode>& node, std::size_t line) {
    if (open_.empty()) {
      root_ = node;
      return;
    }
    Open& parent = open_.back();
    if (parent.node->kind == YamlNode::Kind::sequence) {
      parent.node->items.push_back(node);
    } else if (!parent.has_key) {
      add_key(parent, *node, line);
    } else {
      parent.has_key = false;
      parent.entry.value = node;
      parent.node->entries.push_back(parent.entry);
    }
  }

  static void add_key(Open& mapping, const YamlNode& key, std::size_t line) {
    if (key.kind == YamlNode::Kind::null) {
      throw YamlError(line, "a key is null: write its name, in quotes if it is \"null\" or \"~\"");
    }
    if (key.kind != YamlNode::Kind::scalar) throw YamlError(line, "a key must be text");
    if (key.plain && key.text == "<<") {
      throw YamlError(line, "the merge key \"<<\" is not supported: write out the keys that it merges");
    }
    if (!mapping.keys.insert(key.text).second)
      throw YamlError(line, "the key " + in_quotes(key.text) + " occurs twice");
    mapping.has_key = true;
    mapping.entry = {key.text, line, nullptr};
  }

  std::shared_ptr<const YamlNode> root_;
  std::vector<Open> open_;
  std::map<std::string, std::shared_ptr<const YamlNode>, std::less<>> anchors_;
  std::size_t nodes_ = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {
    if (yaml_parser_initialize(&parser_) != 1) throw std::bad_alloc();
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~Parser() { yaml_parser_delete(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  // False at the end.
  bool next(TreeBuilder& builder) {
    const Event event(parser_);
    if (!event.good()) fail();
    builder.add(event);
    return event.get().type != YAML_STREAM_END_EVENT;
  }

 private:
  [[noreturn]] void fail() const {
    if (parser_.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
    const std::string problem = parser_.problem == nullptr ? "broken YAML" : parser_.problem;
    if (parser_.error == YAML_READER_ERROR) {
      const std::string_view before = text_.substr(0, std::min(parser_.problem_offset, text_.size()));
      throw YamlError(1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')), problem);
    }
    throw YamlError(line_of(parser_.problem_mark),
                    problem + (parser_.context == nullptr ? "" : std::string(", ") + parser_.context));
  }

  std::string_view text_;
  yaml_parser_t parser_{};
};

}  // namespace

YamlNode::~YamlNode() { OPENSSL_cleanse(text.data(), text.size()); }

std::shared_ptr<const YamlNode> parse_yaml(std::string_view text) {
  if (text.size() > kMaxSize) throw YamlError(1, "the file is larger than 1 MiB");
  Parser parser(text.empty() ? std::string_view("") : text);  // libyaml does not accept a null pointer
  TreeBuilder builder;
  while (parser.next(builder)) {
  }
  return builder.root() ? builder.root() : std::make_shared<const YamlNode>();
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::size_t shown = std::min(kLongest, text.size());
  while (shown < text.size() && shown > 0 && (static_cast<unsigned char>(text[shown]) & 0xC0U) == 0x80) --shown;
  std::string out(text.substr(0, shown));
  std::replace_if(out.begin(), out.end(), control, '?');
  return '"' + out + (shown < text.size() ? "...\"" : "\"");
}

}  // namespace igpu::exporter
