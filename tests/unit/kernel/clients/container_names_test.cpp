// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/container_names.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/locked_directory.h"
#include "support/machine_tree.h"

using namespace igpu;
using namespace std::chrono_literals;

namespace {

const std::string kId = "3f4a1d9b7c0e5a6f8b2d4c1e9f7a0b3c5d6e8f1a2b4c7d9e0f1a3b5c7d9e1f20";
const std::string kOther = "00000000000000000000000000000000000000000000000000000000000000aa";
const std::string kUid = "2c48913c-b29f-11e7-9350-020968147796";

struct Scene {
  void write(const std::string& path, std::string_view text) { tree.write("host/" + path, text); }
  ContainerNames& names() {
    if (!root) {
      tree.make_directory("host");
      root = open_root(tree.path("host"));
      names_ = std::make_unique<ContainerNames>(*root);
    }
    names_->begin_scan(now);
    return *names_;
  }

  test::MachineTree tree;
  std::unique_ptr<Directory> root;
  Nanoseconds now = 100s;

 private:
  std::unique_ptr<ContainerNames> names_;
};

}  // namespace

TEST_SUITE_BEGIN("container names");

TEST_CASE("the folder of a pod's logs names it") {
  const auto folder = parse_pod_folder("media_jellyfin-7d5b6c_" + kUid);
  REQUIRE(folder);
  CHECK(folder->pod.name_space == "media");
  CHECK(folder->pod.name == "jellyfin-7d5b6c");
  CHECK(folder->uid == kUid);
  for (const char* bad : {"", "_", "__", "a_b", "a_b_", "_b_c", "a_b_c_d", "a_b\n_c", "a_\xff_c"})
    CHECK_FALSE(parse_pod_folder(bad));
  CHECK_FALSE(parse_pod_folder(std::string(300, 'a') + "_b_c"));
}

TEST_CASE("a container's log names it and its id") {
  const auto log = parse_container_log("jellyfin-7d5b6c_media_transcode-er-" + kId + ".log");
  REQUIRE(log);
  CHECK(log->container == "transcode-er");
  CHECK(log->id == kId);
  for (const std::string& bad : {std::string(), std::string(".log"), "a_b_" + kId + ".log", "a_b_-" + kId + ".log",
                                 "a_b_c-" + kId, "a_b_c-" + std::string(64, 'Z') + ".log", "a_c-" + kId + ".log"})
    CHECK_FALSE(parse_container_log(bad));
}

TEST_CASE("names as engines write them") {
  CHECK(plain_container_name("/web") == "web");
  CHECK(plain_container_name("web_1") == "web_1");
  CHECK(plain_container_name("k8s_transcoder_jellyfin_media_uid_0") == "transcoder");
  for (const char* bad : {"", "/", "a b", "a\"b", "\xff", "a/b", "k8s_"}) CHECK(plain_container_name(bad) == "");
}

TEST_CASE("Kubernetes: pod, namespace and container") {
  Scene scene;
  scene.write("var/log/pods/media_jellyfin_" + kUid + "/transcoder/0.log", "");
  scene.write("var/log/pods/media_jellyfin_" + kUid + "/init/0.log", "");
  scene.write("var/log/containers/jellyfin_media_transcoder-" + kId + ".log", "");
  auto& names = scene.names();
  REQUIRE(names.pod(kUid));
  CHECK(names.pod(kUid)->name_space == "media");
  CHECK(names.pod(kUid)->name == "jellyfin");
  CHECK(names.container(kId, kUid) == "transcoder");
  CHECK_FALSE(names.why_missing());
  CHECK(names.container(kOther, kUid) == "");  // one of the two, but which?
  CHECK(names.why_missing());
}

TEST_CASE("the only container of a pod needs no log of its own") {
  Scene scene;
  scene.write("var/log/pods/media_jellyfin_" + kUid + "/transcoder/0.log", "");
  CHECK(scene.names().container(kId, kUid) == "transcoder");
}

TEST_CASE("Docker's own file") {
  Scene scene;
  scene.write("var/lib/docker/containers/" + kId + "/config.v2.json",
              R"({"ID":"x","Config":{"Name":"no","Env":["KEY=secret"]},"Name":"/packager_1"})");
  CHECK(scene.names().container(kId, "") == "packager_1");
}

TEST_CASE("Podman with root and without, volatile containers too") {
  Scene scene;
  scene.write("var/lib/containers/storage/overlay-containers/containers.json",
              R"([{"id":")" + kId + R"(","names":["encoder","second"]},{"names":["nobody"]}])");
  scene.write("home/alice/.local/share/containers/storage/overlay-containers/volatile-containers.json",
              R"([{"names":["night"],"id":")" + kOther + R"("}])");
  auto& names = scene.names();
  CHECK(names.container(kId, "") == "encoder");
  CHECK(names.container(kOther, "", ::getuid()) == "night");
}

struct HomeScene : Scene {
  static constexpr const char* kFolder = "home/mallory/.local/share/containers/storage/overlay-containers";
  std::string real(const std::string& path) { return tree.path("host/" + path); }
  static std::string state(const std::string& id, const std::string& name) {
    return R"([{"id":")" + id + R"(","names":[")" + name + R"("]}])";
  }
};

TEST_CASE("a home names only the containers of its own user's session, and only if the host's files do not") {
  HomeScene scene;
  scene.write("var/lib/docker/containers/" + kId + "/config.v2.json", R"({"Name":"/database"})");
  scene.write(std::string(HomeScene::kFolder) + "/containers.json", HomeScene::state(kId, "harmless"));
  scene.write(std::string(HomeScene::kFolder) + "/volatile-containers.json", HomeScene::state(kOther, "mine"));
  auto& names = scene.names();
  for (const auto user : {std::optional<std::uint32_t>(), std::optional<std::uint32_t>(::getuid())})
    CHECK(names.container(kId, "", user) == "database");
  CHECK(names.container(kOther, "") == "");
  CHECK(names.container(kOther, "", ::getuid() + 1) == "");
  CHECK(names.container(kOther, "", ::getuid()) == "mine");
  CHECK(names.container(kOther, "", ::getuid()) == "mine");
}

TEST_CASE("a FIFO in a home blocks nobody, and no link and no device is followed from it") {
  const std::vector<std::function<void(HomeScene&)>> attacks{
      [](HomeScene& scene) {
        scene.tree.make_directory(std::string("host/") + HomeScene::kFolder);
        REQUIRE(::mkfifo(scene.real(std::string(HomeScene::kFolder) + "/containers.json").c_str(), 0600) == 0);
      },
      [](HomeScene& scene) {
        scene.write("root/secret.json", HomeScene::state(kOther, "secret"));
        scene.tree.make_directory(std::string("host/") + HomeScene::kFolder);
        std::filesystem::create_symlink(scene.real("root/secret.json"),
                                        scene.real(std::string(HomeScene::kFolder) + "/containers.json"));
      },
      [](HomeScene& scene) {
        scene.write("root/containers/storage/overlay-containers/containers.json", HomeScene::state(kOther, "secret"));
        scene.tree.make_directory("host/home/mallory/.local/share");
        std::filesystem::create_directory_symlink(scene.real("root/containers"),
                                                  scene.real("home/mallory/.local/share/containers"));
      },
      [](HomeScene& scene) {
        scene.tree.make_directory(std::string("host/") + HomeScene::kFolder);
        std::filesystem::create_symlink("/dev/zero", scene.real(std::string(HomeScene::kFolder) + "/containers.json"));
      }};
  for (std::size_t i = 0; i < attacks.size(); ++i) {
    CAPTURE(i);
    HomeScene scene;
    attacks[i](scene);
    scene.write("home/alice/.local/share/containers/storage/overlay-containers/containers.json",
                HomeScene::state(kId, "night"));
    auto& names = scene.names();
    CHECK(names.container(kOther, "", ::getuid()) == "");
    CHECK(names.container(kId, "", ::getuid()) == "night");
  }
}

TEST_CASE("a broken state file names nobody, and hides nobody else") {
  Scene scene;
  scene.write("var/lib/docker/containers/" + kId + "/config.v2.json", "{\"Name\":");
  scene.write("var/lib/containers/storage/overlay-containers/containers.json", "[[[");
  scene.write("home/alice/.local/share/containers/storage/overlay-containers/containers.json",
              R"([{"id":")" + kOther + R"(","names":["night"]}])");
  auto& names = scene.names();
  CHECK(names.container(kId, "") == "");
  CHECK(names.container(kOther, "", ::getuid()) == "night");
}

TEST_CASE("a container that came later is found, but nobody is searched for all the time") {
  Scene scene;
  CHECK(scene.names().pod(kUid) == nullptr);
  CHECK(scene.names().container(kId, kUid) == "");
  scene.write("var/log/pods/media_jellyfin_" + kUid + "/transcoder/0.log", "");
  scene.now += 5s;
  CHECK(scene.names().pod(kUid) == nullptr);
  scene.now += 6s;
  CHECK(scene.names().pod(kUid) != nullptr);
  CHECK(scene.names().container(kId, kUid) == "transcoder");
  // A pod that was deleted keeps its name for what it had used.
  scene.tree.remove("host/var/log/pods");
  scene.now += 60s;
  CHECK(scene.names().pod(kUid) != nullptr);
}

TEST_CASE("a pod that starts just after a search is found at the next scan") {
  Scene scene;
  CHECK(scene.names().pod("another") == nullptr);
  scene.write("var/log/pods/media_jellyfin_" + kUid + "/transcoder/0.log", "");
  CHECK(scene.names().pod(kUid) == nullptr);  // the same scan
  scene.now += 1s;
  CHECK(scene.names().pod(kUid) != nullptr);
}

TEST_CASE("no container, nothing missing; a container without a name says what is missing") {
  Scene scene;
  CHECK_FALSE(scene.names().why_missing());
  auto& names = scene.names();
  CHECK(names.container("no id", "") == "");
  CHECK_FALSE(names.why_missing());
  names.container(kId, "");
  REQUIRE(names.why_missing());
  CHECK(*names.why_missing() == Absent{Reason::permission, ENOENT});
}

TEST_SUITE_END();
