// SPDX-License-Identifier: Apache-2.0
#include "web_config/yaml_tree.h"

#include <string.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <map>
#include <set>
#include <streambuf>

namespace igpu::exporter {
namespace {

constexpr std::size_t kLargest = 1U << 20;
constexpr std::size_t kMostNodes = 100'000;
constexpr std::size_t kDeepest = 16;

std::size_t line_of(const YAML::Mark& mark) { return mark.line < 0 ? 1 : static_cast<std::size_t>(mark.line) + 1; }

// Length of the UTF-8 sequence at the start of text; 0: there is none.
std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  }
  if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F) || (first == 0xF0 && byte(1) < 0x90) ||
      (first == 0xF4 && byte(1) > 0x8F)) {
    return 0;
  }
  return size;
}

// YAML allows no control characters, and yaml-cpp takes one of them for the end of the file.
void check_characters(std::string_view text) {
  std::size_t line = 1;
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t size = utf8_sequence(text);
    if (size == 0) throw YamlError(line, "this is not UTF-8 text");
    if ((static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' && c != '\r') || c == '\x7f') {
      throw YamlError(line, "control characters are not allowed");
    }
    if (c == '\n') ++line;
    text.remove_prefix(size);
  }
}

// Reads from memory that it does not own: no copy of what may be a secret.
class ViewBuffer final : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());
    setg(begin, begin, begin + text.size());
  }
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  std::shared_ptr<const YamlNode> root() const { return root_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (root_) throw YamlError(line_of(mark), "a second document begins here; only one can be honoured");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    finish(make(mark, YamlNode::Kind::null), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw YamlError(line_of(mark), "an alias stands inside of what it names");
    if (++nodes_ > kMostNodes) throw YamlError(line_of(mark), "too many values");
    place(found->second, line_of(mark));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    constexpr std::string_view kCore = "tag:yaml.org,2002:";
    const std::shared_ptr<YamlNode> node = make(mark, YamlNode::Kind::scalar);
    if (tag == "?" || (tag.starts_with(kCore) && (tag.ends_with(":bool") || tag.ends_with(":int")))) {
      node->plain = true;
    } else if (tag != "!" && tag != std::string(kCore) + "str") {
      throw YamlError(line_of(mark), "the tag " + in_quotes(tag) + " cannot be honoured");
    }
    node->text = value;
    finish(node, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, "seq", YamlNode::Kind::sequence, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, "map", YamlNode::Kind::mapping, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    std::shared_ptr<YamlNode> node;
    YAML::anchor_t anchor = YAML::NullAnchor;
    std::set<std::string, std::less<>> keys;    // written in the mapping itself
    std::map<std::string, std::size_t> merged;  // from "<<", with their places: those may be written anew
    bool has_key = false;
    bool merging = false;
    YamlNode::Entry entry;  // of the key that was read last
    std::size_t place = 0;  // where it goes
  };

  std::shared_ptr<YamlNode> make(const YAML::Mark& mark, YamlNode::Kind kind) {
    if (++nodes_ > kMostNodes) throw YamlError(line_of(mark), "too many values");
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->line = line_of(mark);
    return node;
  }

  void open(const YAML::Mark& mark, const std::string& tag, std::string_view kind_tag, YamlNode::Kind kind,
            YAML::anchor_t anchor) {
    if (open_.size() >= kDeepest) throw YamlError(line_of(mark), "nested too deeply");
    if (tag != "?" && tag != "!" && tag != "tag:yaml.org,2002:" + std::string(kind_tag)) {
      throw YamlError(line_of(mark), "the tag " + in_quotes(tag) + " cannot be honoured");
    }
    Open& mapping = open_.emplace_back();
    mapping.node = make(mark, kind);
    mapping.anchor = anchor;
  }

  void close() {
    const std::shared_ptr<YamlNode> node = open_.back().node;
    const YAML::anchor_t anchor = open_.back().anchor;
    open_.pop_back();
    finish(node, anchor);
  }

  void finish(const std::shared_ptr<const YamlNode>& node, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = node;
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
      take_key(parent, *node, line);
    } else {
      parent.has_key = false;
      if (parent.merging) {
        merge(parent, *node, line);
      } else {
        std::vector<YamlNode::Entry>& entries = parent.node->entries;
        if (parent.place == entries.size()) entries.emplace_back();
        parent.entry.value = node;
        entries[parent.place] = parent.entry;
      }
    }
  }

  static void take_key(Open& mapping, const YamlNode& key, std::size_t line) {
    if (key.kind != YamlNode::Kind::scalar) throw YamlError(line, "a key has to be a word");
    mapping.has_key = true;
    mapping.entry = {key.text, line, nullptr};
    mapping.place = mapping.node->entries.size();
    mapping.merging = key.plain && key.text == "<<";
    if (mapping.merging) {
      if (!mapping.node->entries.empty()) throw YamlError(line, "\"<<\" has to be the first key of its mapping");
      return;
    }
    if (!mapping.keys.insert(key.text).second)
      throw YamlError(line, "the key " + in_quotes(key.text) + " stands twice");
    const auto merged = mapping.merged.find(key.text);
    if (merged != mapping.merged.end()) mapping.place = merged->second;
  }

  void merge(Open& mapping, const YamlNode& source, std::size_t line) {
    if (source.kind == YamlNode::Kind::sequence) {
      for (const std::shared_ptr<const YamlNode>& item : source.items) merge_mapping(mapping, *item, line);
    } else {
      merge_mapping(mapping, source, line);
    }
  }

  void merge_mapping(Open& mapping, const YamlNode& source, std::size_t line) {
    if (source.kind != YamlNode::Kind::mapping) throw YamlError(line, "\"<<\" merges mappings only");
    for (const YamlNode::Entry& entry : source.entries) {
      if (++nodes_ > kMostNodes) throw YamlError(line, "too many values");
      std::vector<YamlNode::Entry>& entries = mapping.node->entries;
      if (mapping.merged.emplace(entry.key, entries.size()).second) entries.push_back(entry);
    }
  }

  std::shared_ptr<const YamlNode> root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, std::shared_ptr<const YamlNode>> anchors_;
  std::size_t nodes_ = 0;
};

bool control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

// What yaml-cpp says may show one byte of the file, also the one that it takes for the end.
std::string readable(std::string message) {
  std::replace_if(
      message.begin(), message.end(), [](char c) { return control(c) || static_cast<unsigned char>(c) > 0x7f; }, '?');
  return message;
}

std::shared_ptr<const YamlNode> read_documents(std::string_view text) {
  ViewBuffer buffer(text);
  std::istream stream(&buffer);
  TreeBuilder builder;
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    throw YamlError(line_of(error.mark), readable(error.msg));
  }
  return builder.root();
}

}  // namespace

YamlNode::~YamlNode() { ::explicit_bzero(text.data(), text.size()); }

std::shared_ptr<const YamlNode> parse_yaml(std::string_view text) {
  if (text.size() > kLargest) throw YamlError(1, "the file is larger than 1 MiB");
  check_characters(text);
  // yaml-cpp misses a quote that is never closed if the file ends with a newline, as one that was cut off may.
  (void)read_documents(text.substr(0, text.find_last_not_of(" \t\r\n") + 1));
  const std::shared_ptr<const YamlNode> root = read_documents(text);
  return root ? root : std::make_shared<const YamlNode>();
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
