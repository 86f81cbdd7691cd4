// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/process.h"

#include <doctest/doctest.h>

#include <string>

#include "support/proc_tree.h"

using namespace igpu;
using namespace std::chrono_literals;

namespace {

const std::string kId = "3f4a1d9b7c0e5a6f8b2d4c1e9f7a0b3c5d6e8f1a2b4c7d9e0f1a3b5c7d9e1f20";

std::string stat_line(const std::string& comm) {
  return "4711 (" + comm +
         ") S 1 4711 4711 0 -1 4194560 100 0 0 0 1234 66 0 0 20 0 5 0 88123 2147483648 25600 184467440737\n";
}

}  // namespace

TEST_SUITE_BEGIN("process");

TEST_CASE("CPU time, memory and start time are parsed from stat, whatever the process name") {
  for (const std::string comm :
       {"ffmpeg", "", ") S 1 (", "a b", "x)", "((", "line\nbreak", "\xff\xfe) 1 2 3", "tmux: server"}) {
    CAPTURE(comm);
    const std::string line = stat_line(comm);
    const auto stat = parse_process_stat(line);
    REQUIRE(stat);
    CHECK(stat->comm == comm);
    CHECK(stat->cpu == Seconds{13.0});
    CHECK(stat->start_time_ticks == 88123);
    CHECK(stat->virtual_size == Bytes{2147483648.0});
    CHECK(stat->resident_pages == 25600);
  }
}

TEST_CASE("a truncated or invalid stat line has no value") {
  const std::string line = stat_line("ffmpeg");
  for (std::size_t size = 0; size < line.find("25600"); ++size) CHECK_FALSE(parse_process_stat(line.substr(0, size)));
  CHECK_FALSE(parse_process_stat("pos: 0"));
  CHECK_FALSE(parse_process_stat(") ("));
  CHECK_FALSE(parse_process_stat("1 (a) S x x x x x x x x x x x x x x x x x x x x x x x x"));
}

TEST_CASE("the user is the effective uid of the status file") {
  CHECK(parse_status_uid("Name:\tffmpeg\nUmask:\t0022\nUid:\t0\t1000\t0\t0\nGid:\t7\t7\t7\t7\n") == 1000);
  CHECK(parse_status_uid("Name:\tUid\nUid:\t5\t6\t7\t8\n") == 6);
  CHECK_FALSE(parse_status_uid("Name:\tffmpeg\n"));
  CHECK_FALSE(parse_status_uid("Uid:\t5"));
}

TEST_CASE("a process is read from its directory; an unknown user is a number") {
  test::ProcTree tree;
  tree.add_process(7, {.comm = "Plex Transcoder",
                       .uid = 1000,
                       .cgroup = "0::/docker/" + kId + "\n",
                       .cpu_ticks = 250,
                       .resident_pages = 3,
                       .virtual_bytes = 8192});
  tree.add_process(8, {.uid = 4242});
  UserNames users(tree.machine().names);
  const auto directory = tree.machine().proc.open_directory("7");
  REQUIRE(directory);
  const auto process = read_process(**directory, 7, users, 0s, 4096);
  REQUIRE(process);
  CHECK(process->comm == "Plex Transcoder");
  CHECK(process->user == "alice");
  CHECK(process->container_id == kId);
  CHECK(process->cpu == Seconds{2.5});
  CHECK(process->resident == Bytes{12288});
  // A kernel for arm64 with large pages.
  CHECK(read_process(**directory, 7, users, 0s, 65536)->resident == Bytes{196608});
  CHECK(process->virtual_size == Bytes{8192});
  CHECK(read_process(**tree.machine().proc.open_directory("8"), 8, users, 0s, 4096)->user == "4242");
}

TEST_CASE("an ended process is absent; one whose status cannot be read still has a name") {
  test::ProcTree tree;
  tree.add_process(7);
  tree.tree.write("proc/9/stat", stat_line("lean"));
  UserNames users(tree.machine().names);
  const auto directory = tree.machine().proc.open_directory("7");
  tree.tree.remove("proc/7");
  CHECK(read_process(**directory, 7, users, 0s, 4096).is_absent());
  const auto lean = read_process(**tree.machine().proc.open_directory("9"), 9, users, 0s, 4096);
  REQUIRE(lean);
  CHECK(lean->comm == "lean");
  CHECK(lean->user == "");
  CHECK(lean->cgroup == "");
}

TEST_SUITE_END();
