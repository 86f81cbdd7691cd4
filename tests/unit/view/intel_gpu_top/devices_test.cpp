// SPDX-License-Identifier: Apache-2.0
// -L and -d of intel_gpu_top, beside what the original printed (tests/captures/intel_gpu_top).
#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/paths.h"
#include "view/intel_gpu_top/intel_gpu_top_arguments.h"

using namespace igpu;
using namespace igpu::exporter;

namespace {

Gpu gpu(const std::string& path, const std::string& card, const std::string& render, std::uint16_t id, GpuKind kind) {
  Gpu made;
  made.pci_path = path;
  made.address = path.substr(path.rfind('/') + 1);
  made.card = card;
  made.render_node = render;
  made.device_id = id;
  made.kind = kind;
  return made;
}

// An integrated GPU, two equal cards, and another vendor's.
std::vector<DrmDevice> machine() {
  const std::vector<Gpu> gpus{
      gpu("devices/pci0000:00/0000:00:01.0/0000:03:00.0", "card0", "renderD129", 0x56a5, GpuKind::discrete),
      gpu("devices/pci0000:00/0000:00:02.0", "card1", "renderD128", 0x7d55, GpuKind::integrated),
      gpu("devices/pci0000:00/0000:00:01.0/0000:04:00.0", "card2", "renderD130", 0x56a5, GpuKind::discrete)};
  std::vector<DisplayDevice> displays;
  for (const Gpu& one : gpus)
    displays.push_back({one.address, one.pci_path, one.card, one.render_node, 0x8086, one.device_id});
  displays.push_back({"0000:81:00.0", "devices/pci0000:80/0000:81:00.0", "card3", "", 0x10de, 0x2204});
  return drm_devices(displays, gpus);
}

std::string chosen(const std::string& filter) {
  const std::vector<DrmDevice> devices = machine();
  const ChosenDevice choice = choose_device(devices, filter);
  return choice.device == nullptr ? choice.error : choice.device->card;
}

}  // namespace

TEST_SUITE_BEGIN("intel_gpu_top_devices");

TEST_CASE("-L lists every GPU in the order of paths, with its nodes and a filter") {
  CHECK(device_list(machine()) ==
        "card0                    Intel Dg2 (Gen12)                 pci:vendor=8086,device=56A5,card=0\n"
        "└─renderD129            \n"
        "card2                    Intel Dg2 (Gen12)                 pci:vendor=8086,device=56A5,card=1\n"
        "└─renderD130            \n"
        "card1                    Intel Meteorlake (Gen12)          pci:vendor=8086,device=7D55,card=0\n"
        "└─renderD128            \n"
        "card3                    10de:2204                         pci:vendor=10DE,device=2204,card=0\n");
  CHECK(device_list({}) == "No GPU devices found\n");
  const std::string one = device_list(std::vector{machine().at(2)});
  std::ifstream capture(igpu::test::source_folder() + "/tests/captures/intel_gpu_top/list-multi.txt");
  std::string first;
  std::getline(capture, first);
  CHECK(one.substr(0, one.find('\n')) == first);
}

TEST_CASE("without -d the first card, then an integrated GPU; never another vendor's") {
  const std::vector<DrmDevice> all = machine();
  CHECK(choose_device(all, std::nullopt).device->card == "card0");
  const std::vector<DrmDevice> rest(all.begin() + 2, all.end());
  CHECK(choose_device(rest, std::nullopt).device->card == "card1");
  const std::vector<DrmDevice> others(all.begin() + 3, all.end());
  CHECK(choose_device(others, std::nullopt).device == nullptr);
  CHECK(choose_device(others, std::nullopt).error ==
        "No device filter specified and no discrete/integrated i915 devices found\n");
}

TEST_CASE("filters") {
  CHECK(chosen("drm:/dev/dri/card1") == "card1");
  CHECK(chosen("drm:/dev/dri/renderD130") == "card2");
  CHECK(chosen("sys:/sys/devices/pci0000:00/0000:00:02.0") == "card1");
  CHECK(chosen("sys:/sys/devices/pci0000:00/0000:00:02.0/drm/card1") == "card1");
  CHECK(chosen("pci:vendor=8086") == "card0");
  CHECK(chosen("pci:vendor=intel,device=56a5,card=1") == "card2");
  CHECK(chosen("pci:vendor=8086,device=7D55,card=0") == "card1");
  CHECK(chosen("pci:device=meteorlake") == "card1");
  CHECK(chosen("pci:vendor=8086,device=integrated") == "card1");
  CHECK(chosen("pci:vendor=8086,device=discrete,card=1") == "card2");
  CHECK(chosen("pci:slot=0000:04:00.0") == "card2");
  CHECK(chosen("pci:vendor=10de") == "card3");
  CHECK(chosen("pci:unknown=1,card=3") == "card3");
  CHECK(chosen("pci:vendor=8086 and more") == "card0");
  CHECK(chosen("pci:") == "card0");
}

TEST_CASE("a filter that matches nothing, or is none, has the original's message") {
  for (const std::string filter :
       {"drm:/dev/dri/card7", "drm:/dev/dri/", "drm:card1", "sys:", "pci:vendor=0x8086", "pci:device=56a5,card=2",
        "pci:card=all", "pci:card=-1", "pci:slot=0000:09:00.0", "pci:device="}) {
    CAPTURE(filter);
    CHECK(chosen(filter) == "Requested device " + filter + " not found!\n");
  }
  CHECK(chosen("/dev/dri/card1") ==
        "No filter class matching [/dev/dri/card1]\nRequested device /dev/dri/card1 not found!\n");
  CHECK(chosen("") == "Can't split filter []\nRequested device  not found!\n");
  CHECK(chosen("pci:slot=0000:04:00.0,card=0") == "Slot parameter can not be used with other parameters\n");
}

TEST_CASE("a filter of any length is bounded") {
  const std::string longest(10'000, 'x');
  CHECK(chosen("pci:vendor=" + longest).size() < 1000);
  CHECK(chosen(longest).size() < 2000);
  CHECK(chosen("drm:" + longest).starts_with("Requested device drm:xxx"));
}

TEST_CASE("codenames are those of igt") {
  CHECK(igt_codename(0x9a49).name == "tigerlake");
  CHECK(igt_codename(0x46d0).name == "alderlake_n");
  CHECK(igt_codename(0xa7a0).name == "alderlake_p");
  CHECK(igt_codename(0x0412).generation == 7);
  CHECK(igt_codename(0x0a84).name == "broxton");
  CHECK(igt_codename(0xe20b).generation == 20);
  CHECK(igt_codename(0x0155).name == "valleyview");
  CHECK(igt_codename(0xffff).name.empty());
}

TEST_SUITE_END();
