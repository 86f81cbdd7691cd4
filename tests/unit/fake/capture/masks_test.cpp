// SPDX-License-Identifier: Apache-2.0
#include "fake/capture/masks.h"

#include <doctest/doctest.h>

#include "fake/capture/answers.h"

using namespace igpu;
using namespace igpu::capture;

namespace {

Answer content(std::string text) {
  Answer answer;
  answer.kind = AnswerKind::content;
  answer.text = std::move(text);
  return answer;
}
Answer link(std::string target) {
  Answer answer;
  answer.kind = AnswerKind::link;
  answer.text = std::move(target);
  return answer;
}
Answer names(std::vector<std::string> all) {
  Answer answer;
  answer.kind = AnswerKind::names;
  answer.names = std::move(all);
  return answer;
}

// A client (100), a process without a GPU (200), and one that did not permit to read its descriptors (300).
std::vector<Pass> passes() {
  Pass pass;
  pass.answers["list proc"] = names({"100", "200", "300", "cmdline", "secret"});
  pass.answers["list proc/100/fdinfo"] = names({"3", "4", "5"});
  pass.answers["link proc/100/fd/3"] = link("/dev/dri/renderD128");
  pass.answers["link proc/100/fd/4"] = link("/home/alice/film.mkv");
  pass.answers["link proc/100/fd/6"] = link("/dev/accel/accel0");
  pass.answers["read proc/100/fdinfo/6"] = content("drm-driver:\tintel_vpu\ndrm-client-id:\t3\n");
  pass.answers["read proc/100/fdinfo/3"] =
      content("pos:\t0\ndrm-driver:\ti915\ndrm-client-name:\talice\ndrm-client-id:\t7\nextra:\talice\n");
  pass.answers["read proc/100/fdinfo/5"] = content("pos:\t0\neventfd-count: 0\n");
  pass.answers["read proc/100/stat"] = content(
      "100 (ali (ce)) S 1 100 100 0 -1 4194560 1 2 3 4 50 60 7 8 20 0 9 0 1234 4096 512 18446744073709551615 "
      "93824 99999 140737 0\n");
  pass.answers["read proc/100/status"] = content("Name:\tali (ce)\nUid:\t1000\t1000\t1000\t1000\nGroups:\t4 24\n");
  pass.answers["read proc/100/cgroup"] =
      content("0::/user.slice/user-1000.slice/user@1000.service/app.slice/alice.service\n");
  pass.answers["link proc/100/exe"] = link("/home/alice/bin/encoder");
  pass.answers["read proc/200/stat"] = content("200 (bob) S 1\n");
  pass.answers["list proc/300/fdinfo"] = absent_answer({Reason::permission, 13});
  pass.answers["read proc/300/stat"] = content("300 (carol) S 1\n");
  pass.answers["read proc/version"] = content("Linux host-of-alice");
  pass.answers["read sys/devices/x/serial_number"] = content("AB-12cd\n");
  pass.answers["read sys/kernel/debug/dri/0/clients"] = content("ffmpeg-of-alice 100 0 n n 1000 0\n");
  pass.answers["read sys/class/devcoredump/devcd3/data"] =
      content("**** Xe Device Coredump ****\nProcess: encoder-of-alice [100]\n");
  Answer user;
  user.kind = AnswerKind::name;
  user.text = "alice";
  pass.answers["user 1000"] = user;
  std::vector<Pass> all;
  all.push_back(std::move(pass));
  return all;
}

}  // namespace

TEST_SUITE_BEGIN("masks");

TEST_CASE("the same name has the same mask, different names have different ones") {
  Masks masks;
  CHECK(masks.process("ffmpeg") == "process1");
  CHECK(masks.process("Xorg") == "process2");
  CHECK(masks.process("ffmpeg") == "process1");
  CHECK(masks.user("alice") == "user1");
  CHECK(masks.user("root") == "root");
  CHECK(masks.user("1000") == "1000");
}

TEST_CASE("a control group keeps its shape and loses its names") {
  Masks masks;
  const std::string id(64, 'a');
  CHECK(masks.cgroup("/system.slice/docker-" + id + ".scope") ==
        "/system.slice/docker-00000001" + std::string(56, '0') + ".scope");
  CHECK(masks.cgroup(id) == "00000001" + std::string(56, '0'));
  CHECK(masks.cgroup("/kubepods/burstable/pod11112222-3333-4444-5555-666677778888") ==
        "/kubepods/burstable/pod00000002-0000-0000-0000-000000000000");
  CHECK(masks.cgroup("/kubepods.slice/kubepods-burstable.slice/"
                     "kubepods-burstable-pod11112222_3333_4444_5555_666677778888.slice") ==
        "/kubepods.slice/kubepods-burstable.slice/"
        "kubepods-burstable-pod00000002_0000_0000_0000_000000000000.slice");
  CHECK(masks.cgroup("/system.slice/customer-7.service") == "/system.slice/name1.service");
  CHECK(masks.cgroup("customer-7.service") == "name1.service");
  CHECK(masks.cgroup("/user.slice/user-1000.slice/session-3.scope") == "/user.slice/user-1000.slice/session-3.scope");
  CHECK(masks.cgroup("/lxc.payload.studio/x") == "/lxc.payload.name2/name3");
  CHECK(masks.cgroup("/").size() == 1);
}

TEST_CASE("what belongs to processes without a GPU, and names, are removed") {
  std::vector<Pass> all = passes();
  Masks masks;
  const std::vector<std::string> report = clean(all, masks);
  const Answers& answers = all.front().answers;
  CHECK(answers.at("list proc").names == std::vector<std::string>{"100", "200", "300"});
  CHECK(answers.at("list proc/100/fdinfo").names == std::vector<std::string>{"3"});
  CHECK(answers.at("read proc/100/fdinfo/3").text ==
        "pos:\t0\ndrm-driver:\ti915\ndrm-client-name:\tmasked\ndrm-client-id:\t7\n");
  CHECK(answers.at("read proc/100/stat").text ==
        "100 (process1) S 1 100 100 0 -1 4194560 1 2 3 4 50 60 7 8 20 0 9 0 1234 4096 512 0 0 0 0 0\n");
  CHECK(answers.at("read proc/100/status").text == "Uid:\t1000\t1000\t1000\t1000\n");
  CHECK(answers.at("read proc/100/cgroup").text ==
        "0::/user.slice/user-1000.slice/user@1000.service/app.slice/name1.service\n");
  CHECK(answers.at("read sys/devices/x/serial_number").text == "00-0000\n");
  CHECK(answers.at("user 1000").text == "user1");
  CHECK(answers.contains("link proc/100/fd/3"));
  CHECK(answers.contains("link proc/100/fd/6"));
  CHECK(answers.contains("list proc/300/fdinfo"));
  for (const char* const gone : {"link proc/100/fd/4", "read proc/100/fdinfo/5", "link proc/100/exe",
                                 "read proc/200/stat", "read proc/300/stat", "read proc/version"}) {
    CAPTURE(gone);
    CHECK_FALSE(answers.contains(gone));
  }
  for (const auto& file : files_of(all)) {
    const auto& path = file.first;
    const auto& text = file.second;
    CAPTURE(path);
    for (const char* const secret : {"alice", "ali (ce)", "bob", "carol", "film", "encoder"})
      CHECK(text.find(secret) == std::string::npos);
  }
  CHECK(report.size() == 4);
}

TEST_CASE("what is left out does not advance the time of a capture, which would differ when it is served again") {
  CHECK_FALSE(advances_time("read sys/kernel/debug/dri/0/clients", content("ffmpeg 100")));
  CHECK_FALSE(advances_time("read proc/200/stat", content("200 (bob) S 1\n")));
  CHECK(advances_time("read sys/class/drm/card0/dev", content("226:0\n")));
}

TEST_CASE("an index keeps every kind of answer through its file") {
  std::vector<Pass> all(2);
  all[1].start = Nanoseconds(1'000'000'007);
  Answers& answers = all[0].answers;
  answers["read sys/a b"] = content(std::string("x\0y\n", 4));
  answers["list sys"] = names({"", "-", "a b", "%", "\xff\n"});
  answers["link sys/c"] = link("../..");
  answers["open sys/d"] = absent_answer({Reason::permission, 13});
  answers["read sys/e"] = failure_answer({std::error_code(5, std::generic_category()), "sys/e e"});
  Answer numbers;
  numbers.kind = AnswerKind::numbers;
  numbers.numbers = {0, 18446744073709551615U};
  answers["perf.read 1:2:0#0"] = numbers;
  const std::vector<Pass> again = passes_of(files_of(all));
  REQUIRE(again.size() == 2);
  CHECK(again[1].start == all[1].start);
  REQUIRE(again[0].answers.size() == answers.size());
  for (const auto& expected : answers) {
    const auto& key = expected.first;
    const Answer& answer = expected.second;
    CAPTURE(key);
    const Answer& other = again[0].answers.at(key);
    CHECK(other.kind == answer.kind);
    CHECK(other.text == answer.text);
    CHECK(other.names == answer.names);
    CHECK(other.numbers == answer.numbers);
    CHECK(other.reason == answer.reason);
    CHECK(other.error == answer.error);
  }
}

TEST_SUITE_END();
