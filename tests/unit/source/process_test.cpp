// SPDX-License-Identifier: Apache-2.0
#include "source/process.h"

#include <doctest/doctest.h>

#include <string>

#include "support/proc_tree.h"

using namespace igpu;
using namespace std::chrono_literals;

namespace {

const std::string kId = "3f4a1d9b7c0e5a6f8b2d4c1e9f7a0b3c5d6e8f1a2b4c7d9e0f1a3b5c7d9e1f20";
const std::string kOther = "00000000000000000000000000000000000000000000000000000000000000aa";

std::string stat_line(const std::string& comm) {
  return "4711 (" + comm +
         ") S 1 4711 4711 0 -1 4194560 100 0 0 0 1234 66 0 0 20 0 5 0 88123 2147483648 25600 184467440737\n";
}

}  // namespace

TEST_SUITE_BEGIN("process");

TEST_CASE("stat tells CPU time, memory and start time, whatever the process calls itself") {
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
    CHECK(stat->resident == Bytes{25600.0 * 4096});
  }
}

TEST_CASE("a stat line that is cut off or none at all is nothing") {
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

TEST_CASE("container ids of all runtimes") {
  const std::string paths[] = {
      "/docker/" + kId,
      "/system.slice/docker-" + kId + ".scope",
      "/machine.slice/libpod-" + kId + ".scope",
      "/machine.slice/libpod-" + kId + ".scope/container",
      "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kId + ".scope",
      "/kubepods/burstable/pod2c48913c-b29f-11e7-9350-020968147796/" + kId,
      "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod2c48913c_b29f_11e7_9350_020968147796.slice/"
      "cri-containerd-" +
          kId + ".scope",
      "/kubepods.slice/kubepods-pod2c48913c_b29f_11e7_9350_020968147796.slice/crio-" + kId + ".scope",
      "/system.slice/containerd.service/"
      "kubepods-besteffort-pod2c48913c_b29f_11e7_9350_020968147796.slice:cri-containerd:" +
          kId,
      "/docker/" + kOther + "/docker/" + kId,  // a container in a container: the inner one
      "/ecs/0123456789abcdef/" + kId,
  };
  for (const std::string& path : paths) {
    CAPTURE(path);
    CHECK(facts_of_cgroup(path).container_id == kId);
  }
}

TEST_CASE("what only looks like a container id is none") {
  for (const std::string& path :
       {std::string("/"), std::string("/user.slice/session-2.scope"), std::string("/docker"), "/a" + kId,
        "/docker-" + kId.substr(1) + ".scope", "/docker-" + kId + ".service", "/libpod-conmon-" + kId + ".scope",
        "/crio-conmon-" + kId + ".scope", "/docker-" + std::string(64, 'Z') + ".scope"}) {
    CAPTURE(path);
    CHECK(facts_of_cgroup(path).container_id == "");
  }
}

TEST_CASE("pod uids are printed as Kubernetes prints them") {
  const std::string uid = "2c48913c-b29f-11e7-9350-020968147796";
  CHECK(facts_of_cgroup("/kubepods/besteffort/pod" + uid + "/" + kId).pod_uid == uid);
  CHECK(facts_of_cgroup("/kubepods/pod" + uid).pod_uid == uid);
  CHECK(facts_of_cgroup("/kubepods.slice/kubepods-pod2c48913c_b29f_11e7_9350_020968147796.slice/crio-" + kId + ".scope")
            .pod_uid == uid);
  CHECK(facts_of_cgroup("/system.slice/containerd.service/"
                        "kubepods-burstable-pod2c48913c_b29f_11e7_9350_020968147796.slice:cri-containerd:" +
                        kId)
            .pod_uid == uid);
  CHECK(facts_of_cgroup("/kubepods/burstable/pod0123456789abcdef0123456789abcdef/" + kId).pod_uid ==
        "0123456789abcdef0123456789abcdef");
  for (const std::string path :
       {"/machine.slice/machine-libpod_pod_abc.slice", "/tripod2c48913c-b29f-11e7-9350-020968147796", "/pod", "/pod-1",
        "/kubepods/pod2c48913c-b29f-11e7-9350"}) {
    CAPTURE(path);
    CHECK(facts_of_cgroup(path).pod_uid == "");
  }
}

TEST_CASE("the innermost unit is the systemd unit") {
  CHECK(facts_of_cgroup("/system.slice/jellyfin.service").systemd_unit == "jellyfin.service");
  CHECK(
      facts_of_cgroup("/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-mpv-77.scope").systemd_unit ==
      "app-gnome-mpv-77.scope");
  CHECK(facts_of_cgroup("/system.slice/docker-" + kId + ".scope/init").systemd_unit == "docker-" + kId + ".scope");
  CHECK(facts_of_cgroup("/docker/" + kId).systemd_unit == "");
}

TEST_CASE(
    "the telling cgroup: where a container shows, else the unified one, else systemd's, else any, else the root") {
  const std::string docker = "/docker/" + kId;
  CHECK(telling_cgroup("0::/system.slice/ssh.service\n") == "/system.slice/ssh.service");
  CHECK(telling_cgroup("5:memory:" + docker + "\n1:name=systemd:/init.scope\n0::/system.slice/containerd.service\n") ==
        docker);
  CHECK(telling_cgroup("5:memory:" + docker + "\n0::" + docker + "/init\n") == docker + "/init");
  CHECK(telling_cgroup("5:memory:/build\n1:name=systemd:/user.slice/session-2.scope\n0::/\n") ==
        "/user.slice/session-2.scope");
  CHECK(telling_cgroup("5:memory:/build\n1:name=systemd:/\n") == "/build");
  CHECK(telling_cgroup("0::/\n") == "/");
  CHECK(telling_cgroup("0::/a:b.service (deleted)\n") == "/a:b.service");
  CHECK(telling_cgroup("") == "");
  CHECK(telling_cgroup("no colon\n::\n0:\n") == "");
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
  const auto process = read_process(**directory, 7, users, 0s);
  REQUIRE(process);
  CHECK(process->comm == "Plex Transcoder");
  CHECK(process->user == "alice");
  CHECK(process->container_id == kId);
  CHECK(process->cpu == Seconds{2.5});
  CHECK(process->resident == Bytes{12288});
  CHECK(process->virtual_size == Bytes{8192});
  CHECK(read_process(**tree.machine().proc.open_directory("8"), 8, users, 0s)->user == "4242");
}

TEST_CASE("a process that has gone is absent, and one that hides its status still has a name") {
  test::ProcTree tree;
  tree.add_process(7);
  tree.tree.write("proc/9/stat", stat_line("lean"));
  UserNames users(tree.machine().names);
  const auto directory = tree.machine().proc.open_directory("7");
  tree.tree.remove("proc/7");
  CHECK(read_process(**directory, 7, users, 0s).is_absent());
  const auto lean = read_process(**tree.machine().proc.open_directory("9"), 9, users, 0s);
  REQUIRE(lean);
  CHECK(lean->comm == "lean");
  CHECK(lean->user == "");
  CHECK(lean->cgroup == "");
}

TEST_SUITE_END();
