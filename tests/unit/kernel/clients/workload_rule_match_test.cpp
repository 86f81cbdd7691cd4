// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "kernel/clients/workload_naming.h"

using namespace igpu;

namespace {

std::string parts_of(std::string_view pattern, std::string_view text) {
  const auto parts = match_pattern(pattern, text);
  if (!parts) return "no";
  std::string all = "yes";
  for (const std::string_view part : *parts) all.append(" <").append(part).append(">");
  return all;
}

}  // namespace

TEST_SUITE_BEGIN("workload rules");

TEST_CASE("patterns, and what their wildcards stand for") {
  CHECK(parts_of("ffmpeg", "ffmpeg") == "yes");
  CHECK(parts_of("ffmpeg", "ffmpeg2") == "no");
  CHECK(parts_of("ffmpeg", "ffmpe") == "no");
  CHECK(parts_of("ffmpeg*", "ffmpeg") == "yes <>");
  CHECK(parts_of("packager-*", "packager-news-7") == "yes <news-7>");
  CHECK(parts_of("*/channel-*.service", "/system.slice/channel-7.service") == "yes </system.slice> <7>");
  CHECK(parts_of("a?c", "abc") == "yes <b>");
  CHECK(parts_of("a?c", "ac") == "no");
  CHECK(parts_of("*a?", "aaab") == "yes <aa> <b>");
  CHECK(parts_of("*", "") == "yes <>");
  CHECK(parts_of("", "") == "yes");
  CHECK(parts_of("", "x") == "no");
  CHECK(parts_of("\\*x\\?\\\\", "*x?\\") == "yes");
  CHECK(parts_of("\\*x", "ax") == "no");
  CHECK(parts_of("x\\", "x\\") == "yes");
  CHECK(parts_of("*", "line\nbreak\xff") == "yes <line\nbreak\xff>");
}

TEST_CASE("a pattern that is made to take long takes no longer than others") {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  CHECK(parts_of(pattern + "b", std::string(4096, 'a')) == "no");
}

TEST_CASE("a rule matches if all of its fields do") {
  const std::vector<std::string> ancestors{"ffmpeg.sh", "packager-news", "systemd"};
  const RuleSubject subject{"ffmpeg", "/usr/bin/ffmpeg", "/system.slice/x.service", "video", ancestors};
  const auto name = [&](const WorkloadRule& rule) { return name_by(rule, subject).value_or("none"); };
  CHECK(name({.name = "fixed", .comm = {"ffmpeg"}}) == "fixed");
  CHECK(name({.name = "fixed", .comm = {"mpv", "ff*"}}) == "fixed");
  CHECK(name({.name = "fixed", .comm = {"mpv"}}) == "none");
  CHECK(name({.name = "fixed", .comm = {"ffmpeg"}, .user = {"alice"}}) == "none");
  CHECK(name({.name = "{user}: {comm:1} of {exe}", .comm = {"ff*"}}) == "video: mpeg of /usr/bin/ffmpeg");
  CHECK(name({.name = "channel {ancestor:1}", .ancestor = {"packager-*"}}) == "channel news");
  CHECK(name({.name = "{ancestor}", .ancestor = {"*"}}) == "ffmpeg.sh");
  CHECK(name({.name = "{cgroup:1}", .exe = {"*ffmpeg"}, .cgroup = {"/system.slice/*.service"}}) == "x");
  CHECK(name({.name = "{{{comm}}}", .comm = {"*"}}) == "{ffmpeg}");
  CHECK(name({.name = "a", .ancestor = {"cron"}}) == "none");
}

TEST_CASE("what is wrong with a rule is said") {
  CHECK(error_in({.name = "{comm} {{x}}", .comm = {"*"}}) == "");
  CHECK(error_in({.name = "", .comm = {"*"}}).find("name is missing") == 0);
  CHECK(error_in({.name = "x"}).find("match is missing") == 0);
  CHECK(error_in({.name = "x", .comm = {""}}).find("comm: an empty pattern") == 0);
  CHECK(error_in({.name = "{pid}", .comm = {"*"}}).find("name: unknown placeholder {pid}") == 0);
  CHECK(error_in({.name = "{", .comm = {"*"}}).find("name: braces") == 0);
  CHECK(error_in({.name = "}", .comm = {"*"}}).find("name: braces") == 0);
  CHECK(error_in({.name = "{ancestor}", .comm = {"*"}}).find("name: {ancestor} needs a pattern") == 0);
  CHECK(error_in({.name = "{comm:2}", .comm = {"*"}}).find("name: a pattern of {comm} has not") == 0);
  CHECK(error_in({.name = "{comm:0}", .comm = {"*"}}).find("name: after \":\"") == 0);
  CHECK(error_in({.name = "{comm:}", .comm = {"*"}}).find("name: after \":\"") == 0);
  CHECK(error_in({.name = "{user:1}", .comm = {"*"}}).find("name: {user} with a number") == 0);
}

TEST_SUITE_END();
