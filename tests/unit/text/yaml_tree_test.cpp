// SPDX-License-Identifier: Apache-2.0
#include "text/yaml_tree.h"

#include <doctest/doctest.h>

using namespace igpu::exporter;

namespace {

// "line: message" of the error; "" if there is none.
std::string error_of(std::string_view text) {
  try {
    (void)parse_yaml(text);
    return "";
  } catch (const YamlError& error) {
    return std::to_string(error.line()) + ": " + error.what();
  }
}

}  // namespace

TEST_SUITE_BEGIN("yaml_tree");

TEST_CASE("a document becomes a tree with line numbers") {
  const auto root = parse_yaml("a: 1\nb:\n  - x\n  - 'y'\nc:\n");
  REQUIRE(root->kind == YamlNode::Kind::mapping);
  REQUIRE(root->entries.size() == 3);
  CHECK(root->entries[0].key == "a");
  CHECK(root->entries[0].value->text == "1");
  CHECK(root->entries[1].line == 2);
  const YamlNode& list = *root->entries[1].value;
  REQUIRE(list.items.size() == 2);
  CHECK(list.items[0]->plain);
  CHECK(list.items[0]->line == 3);
  CHECK(list.items[1]->text == "y");
  CHECK_FALSE(list.items[1]->plain);
  CHECK(root->entries[2].value->kind == YamlNode::Kind::null);
}

TEST_CASE("an empty document is a null node") {
  CHECK(parse_yaml({})->kind == YamlNode::Kind::null);
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "~", "null"}) {
    CAPTURE(text);
    CHECK(parse_yaml(text)->kind == YamlNode::Kind::null);
  }
}

TEST_CASE("an alias shares the node that it names") {
  const auto root = parse_yaml("x: &x {a: 1, b: 2}\ny: [*x]\nz: *x\n");
  CHECK(root->entries[1].value->items[0] == root->entries[0].value);
  CHECK(root->entries[2].value == root->entries[0].value);
}

TEST_CASE("an alias is a reference: a billion nested copies cost nothing") {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + below;
    for (int k = 1; k < 8; ++k) text += ", " + below;
    text += "]\n";
  }
  CHECK(parse_yaml(text)->entries.size() == 10);
}

TEST_CASE("unsupported and invalid YAML is rejected with its line") {
  CHECK(error_of("a: 1\nb: 2\na: 3\n") == "3: the key \"a\" occurs twice");
  CHECK(error_of("a: 1\n---\nb: 2\n").starts_with("2: a second document"));
  CHECK(error_of("a: 1\nb: &a [*a]\n") == "2: an alias in here names the node that contains it");
  CHECK(error_of("a: &a {b: {c: [*a]}}\n") == "1: an alias in here names the node that contains it");
  CHECK(error_of("a: &a 1\nb: &a 2\n") == "2: second occurrence, found duplicate anchor; first occurrence");
  CHECK(error_of("a: 1\nb: *b\n") == "2: found undefined alias");
  CHECK(error_of("a: !secret x\n").find("is not supported") != std::string::npos);
  CHECK(error_of("a: !!binary aGk=\n").find("is not supported") != std::string::npos);
  CHECK(error_of("a: !!set {x}\n").find("is not supported") != std::string::npos);
  const std::string merge = "the merge key \"<<\" is not supported: write out the keys that it merges";
  CHECK(error_of("b: 1\n<<: {a: 1}\n") == "2: " + merge);
  CHECK(error_of("x: &x {a: 1}\ny: {<<: *x}\n") == "2: " + merge);
  CHECK(error_of("<<: 1\n") == "1: " + merge);
  CHECK(error_of("'<<': 1\n") == "");  // a word like any other
  CHECK(error_of("[a]: 1\n") == "1: a key must be text");
  for (const char* null : {"~: 1\n", "null: 1\n", "NULL: 1\n", "? \n: 1\n", "!!null x: 1\n", "{~: 1}\n"}) {
    CAPTURE(null);
    CHECK(error_of(null) == "1: a key is null: write its name, in quotes if it is \"null\" or \"~\"");
  }
  CHECK(error_of("'null': 1\n") == "");
  CHECK(error_of("a: [1\n").starts_with("2: did not find expected ',' or ']'"));
  CHECK(error_of("a: 'x\n").find("unexpected end of stream") != std::string::npos);
  CHECK(error_of("a: \"x\nb: y\n\n").find("unexpected end of stream") != std::string::npos);
  CHECK(error_of("a: \"\\").starts_with("1: found unknown escape character"));
  CHECK(error_of("a:\n\t- 1\n") != "");
  CHECK(error_of("a: 1\nb: \xff\n") == "2: invalid leading UTF-8 octet");
  CHECK(error_of("a: \xc0\xaf\n").starts_with("1: "));
  CHECK(error_of("a: 1\n\x04\nb: 2\n") == "2: control characters are not allowed");
  CHECK(error_of(std::string_view("a: 1\0", 5)) == "1: control characters are not allowed");
}

TEST_CASE("standard tags set the type of a value") {
  const auto root = parse_yaml("[!!str '1', !!int '1', !!null x, !!str '~', '~', ~]");
  const auto& items = root->items;
  CHECK((items[0]->kind == YamlNode::Kind::scalar && !items[0]->plain));
  CHECK((items[1]->kind == YamlNode::Kind::scalar && items[1]->plain));
  CHECK(items[2]->kind == YamlNode::Kind::null);
  CHECK(items[3]->text == "~");
  CHECK(items[4]->text == "~");
  CHECK(items[5]->kind == YamlNode::Kind::null);
}

TEST_CASE("size and depth are limited") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(error_of(nested(16)) == "");
  CHECK(error_of(nested(17)) == "1: nested too deeply");
  CHECK(error_of(nested(32'000)) == "1: nested too deeply");
  CHECK(error_of(std::string(1 << 16, ' ')) == "");
  CHECK(error_of(std::string((1 << 16) + 1, ' ')) == "1: the file is larger than 64 KiB");
  std::string blocks;
  for (int i = 0; i < 30'000; ++i) blocks += "- ";
  CHECK(error_of(blocks) == "1: nested too deeply");
}

TEST_CASE("quoted keys keep messages on one short line") {
  CHECK(in_quotes("a\nb\x1b") == "\"a?b?\"");
  CHECK(in_quotes(std::string(100, 'x')) == '"' + std::string(60, 'x') + "...\"");
  std::string cut_in_a_character(59, 'x');
  cut_in_a_character += "\xc3\xa4";
  CHECK(in_quotes(cut_in_a_character) == '"' + std::string(59, 'x') + "...\"");
}

TEST_SUITE_END();
