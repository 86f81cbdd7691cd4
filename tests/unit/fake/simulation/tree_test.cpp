// SPDX-License-Identifier: Apache-2.0
#include "fake/simulation/tree.h"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>

using namespace igpu;
using namespace igpu::simulation;
using namespace std::chrono_literals;

namespace {

class SetClock final : public Clock {
 public:
  Nanoseconds now() const override { return time; }
  Nanoseconds time{5s};
};

struct Fixture {
  SetClock clock;
  ScriptClock script_clock{clock, 100s};
  Tree tree{script_clock, 0};
  TreeDirectory root{tree};
  std::array<char, 64> buffer{};
};

template <class T>
int os_error(const Reading<T>& reading) {
  return reading.is_absent() ? reading.absent().os_error : reading.is_failure() ? reading.failure().code.value() : 0;
}

}  // namespace

TEST_SUITE_BEGIN("simulated tree");

TEST_CASE_FIXTURE(Fixture, "a file that never changes is read as it was written") {
  tree.file("class/drm/version", "drm 1.1.0 20060810\n");
  CHECK(*root.read("class/drm/version", buffer) == "drm 1.1.0 20060810\n");
  CHECK(*root.read("class//drm/./version", buffer) == "drm 1.1.0 20060810\n");
}

TEST_CASE_FIXTURE(Fixture, "a file of time shows the machine's time, which began hours before the clock's") {
  tree.file("uptime", [](Text& out, ScriptTime now) { out << now.count() / 1'000'000'000 << '\n'; });
  CHECK(*root.read("uptime", buffer) == "100\n");
  clock.time += 17s;
  CHECK(*root.read("uptime", buffer) == "117\n");
  const auto file = root.open("uptime");
  REQUIRE(file);
  clock.time += 1s;
  CHECK(*(*file)->read(buffer) == "118\n");
}

TEST_CASE_FIXTURE(Fixture, "what is not there, is no directory or is one has the errno of the kernel") {
  tree.file("a/file", "1\n");
  CHECK(os_error(root.read("a/other", buffer)) == ENOENT);
  CHECK(os_error(root.read("a/file/below", buffer)) == ENOTDIR);
  CHECK(os_error(root.read("a", buffer)) == EISDIR);
  CHECK(os_error(root.for_each("a/file", [](std::string_view) { return true; })) == ENOTDIR);
  CHECK(os_error(root.open_directory("b")) == ENOENT);
  CHECK(root.read("a/other", buffer).absent().reason == Reason::kernel);
}

TEST_CASE_FIXTURE(Fixture, "a file that does not fit is a failure, its start is not") {
  tree.file("long", std::string(100, 'x'));
  CHECK(os_error(root.read("long", buffer)) == EFBIG);
  CHECK(root.read_start("long", buffer)->size() == 64);
  tree.file("just", std::string(64, 'y'));
  CHECK(os_error(root.read("just", buffer)) == EFBIG);  // as for machine/: it may be longer
}

TEST_CASE_FIXTURE(Fixture, "links lead where sysfs' links lead") {
  tree.file("devices/pci0000:00/0000:00:02.0/vendor", "0x8086\n");
  tree.link("devices/pci0000:00/0000:00:02.0/drm/card0/device", "../..");
  tree.link("class/drm/card0", "../../devices/pci0000:00/0000:00:02.0/drm/card0");
  CHECK(*root.read("class/drm/card0/device/vendor", buffer) == "0x8086\n");
  CHECK(*root.read_link("class/drm/card0") == "../../devices/pci0000:00/0000:00:02.0/drm/card0");
  CHECK(*root.read_link("class/drm/card0/device") == "../..");
  CHECK(*root.resolve("class/drm/card0/device") == "devices/pci0000:00/0000:00:02.0");
  CHECK(*root.resolve("class/drm/card0/..") == "devices/pci0000:00/0000:00:02.0/drm");
  CHECK(*root.resolve(".") == ".");
  CHECK(os_error(root.read_link("devices/pci0000:00/0000:00:02.0/vendor")) == EINVAL);
}

TEST_CASE_FIXTURE(Fixture, "links in a circle end with a failure") {
  tree.link("a", "b");
  tree.link("b", "a");
  CHECK(root.read("a", buffer).is_failure());
  CHECK(os_error(root.resolve("a")) == ELOOP);
}

TEST_CASE_FIXTURE(Fixture, "a directory lists its entries and stops on request") {
  tree.file("hwmon1/name", "xe\n");
  tree.file("hwmon1/energy1_input", "1\n");
  tree.directory("hwmon1/power");
  CHECK(sorted_names(root, "hwmon1") == std::vector<std::string>{"energy1_input", "name", "power"});
  int seen = 0;
  CHECK(root.for_each("hwmon1", [&](std::string_view) { return ++seen < 2; }));
  CHECK(seen == 2);
  const auto directory = root.open_directory("hwmon1");
  REQUIRE(directory);
  CHECK(*(*directory)->read("name", buffer) == "xe\n");
  CHECK(*(*directory)->resolve("name") == "hwmon1/name");
}

TEST_CASE_FIXTURE(Fixture, "stat reports type, permissions, owner and device number") {
  tree.file("energy_uj", "1\n", 0400);
  tree.directory("1000").uid = 1000;
  tree.device("dri/renderD128", 226, 128, 0660);
  tree.link("node", "dri/renderD128");
  CHECK(root.stat("energy_uj")->mode == 0100400u);
  CHECK(root.stat("1000")->mode == 0040555u);
  CHECK(root.stat("1000")->uid == 1000);
  CHECK(root.stat("node")->mode == 0020660u);
  CHECK(root.stat("node")->rdev == (226u << 8 | 128u));
  CHECK(root.stat("energy_uj")->inode != root.stat("1000")->inode);
  CHECK(os_error(root.read("dri/renderD128", buffer)) == ENXIO);
}

TEST_CASE("a reader without root sees what file modes and the kernel's checks allow") {
  SetClock clock;
  const ScriptClock script_clock(clock, 0s);
  Tree tree(script_clock, 997);
  const TreeDirectory root(tree);
  std::array<char, 64> buffer{};
  tree.file("energy_uj", "1\n", 0400);
  tree.file("name", "package-0\n");
  tree.directory("own").uid = 997;
  tree.file("own/private", "mine\n", 0400);
  tree.file("other/fdinfo/3", "secret\n");
  tree.directory("other/fdinfo").error = EACCES;

  CHECK(root.read("energy_uj", buffer).absent() == Absent{Reason::permission, EACCES});
  CHECK(root.open("energy_uj").absent() == Absent{Reason::permission, EACCES});
  CHECK(*root.read("name", buffer) == "package-0\n");
  CHECK(*root.read("own/private", buffer) == "mine\n");
  CHECK(root.for_each("other/fdinfo", [](std::string_view) { return true; }).absent().reason == Reason::permission);
  CHECK(root.read("other/fdinfo/3", buffer).absent().reason == Reason::permission);
  CHECK(root.stat("other/fdinfo"));
}

TEST_CASE_FIXTURE(Fixture, "reading a file that needs a sleeping GPU is counted, all else is not") {
  RuntimePower asleep(true);
  RuntimePower awake(false);
  tree.file("sleeping/act_freq", "0\n").wakes = &asleep;
  tree.file("sleeping/runtime_status", "suspended\n");
  tree.file("working/act_freq", "1300\n").wakes = &awake;
  (void)root.read("sleeping/runtime_status", buffer);
  (void)root.read("working/act_freq", buffer);
  const auto file = root.open("sleeping/act_freq");
  (void)root.stat("sleeping/act_freq");
  CHECK(asleep.resumes() == 0);
  (void)(*file)->read(buffer);
  (void)root.read("sleeping/act_freq", buffer);
  CHECK(asleep.resumes() == 2);
  CHECK(awake.resumes() == 0);
}

TEST_SUITE_END();
