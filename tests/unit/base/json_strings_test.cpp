// SPDX-License-Identifier: Apache-2.0
#include "igpu/json_strings.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace igpu;

namespace {

struct Found {
  bool good = false;
  std::vector<std::string> lines;  // "Config.Env[1]=value"
};

Found strings_of(std::string_view text) {
  Found found;
  found.good = visit_json_strings(text, [&](std::span<const JsonStep> path, std::string_view value) {
    std::string line;
    for (const JsonStep& step : path)
      line += step.key.empty() ? "[" + std::to_string(step.index) + "]" : "." + step.key;
    found.lines.push_back(line.append("=").append(value));
  });
  return found;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_SUITE_BEGIN("JSON strings");

TEST_CASE("every string, with the way to it") {
  const Found found = strings_of(
      R"( {"Name":"/web","Args":["-c", "x", 3, {"a":"b"}],"Pid":1.5e-3,"Ok":true,"None":null,"Empty":{},"List":[]} )");
  CHECK(found.good);
  CHECK(found.lines == Lines{".Name=/web", ".Args[0]=-c", ".Args[1]=x", ".Args[3].a=b"});
}

TEST_CASE("escapes") {
  CHECK(strings_of(R"(["\"\\\/\b\f\n\r\t"])").lines == Lines{"[0]=\"\\/\b\f\n\r\t"});
  CHECK(strings_of(R"(["\u0041\u00e9\u20ac\ud83d\ude00"])").lines == Lines{"[0]=A\u00e9\u20ac\U0001f600"});
  CHECK(strings_of(R"(["\ud83dx\ude00\ud83d\u0041"])").lines == Lines{"[0]=\ufffdx\ufffd\ufffdA"});
}

TEST_CASE("a broken text ends where it is broken") {
  for (const char* bad :
       {"", " ", "{", "[", "\"", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "[1,]", "[1 2]", "{\"a\":1}x", "[\"\\x\"]",
        "[\"\\u12g4\"]", "[\"\\u12", "[\"\\ud83d\\u12", "{a:1}", "[\"line\nbreak\"]", "]", "\"\\"}) {
    CAPTURE(bad);
    CHECK_FALSE(strings_of(bad).good);
  }
  CHECK(strings_of(R"({"a":"b","c")").lines == Lines{".a=b"});
}

TEST_CASE("too deep is broken, and takes no stack") {
  CHECK(strings_of(std::string(32, '[') + std::string(32, ']')).good);
  CHECK_FALSE(strings_of(std::string(33, '[') + std::string(33, ']')).good);
  CHECK_FALSE(strings_of(std::string(1'000'000, '[')).good);
}

TEST_SUITE_END();
