// SPDX-License-Identifier: Apache-2.0

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "kernel/device/discovery.h"
#include "machine/pci_ids.h"

using igpu::intel_gpu_name;

namespace {

struct Family {
  const char* name;  // what the names of its GPUs begin with
  std::vector<std::uint16_t> ids;
};

// include/drm/intel/pciids.h of Linux 7.0, from Ice Lake on.
const std::vector<Family>& kernel_ids() {
  static const std::vector<Family> families{
      {"Ice Lake",
       {0x8a50, 0x8a51, 0x8a52, 0x8a53, 0x8a54, 0x8a56, 0x8a57, 0x8a58, 0x8a59, 0x8a5a, 0x8a5b, 0x8a5c, 0x8a5d, 0x8a70,
        0x8a71}},
      {"Elkhart Lake", {0x4541, 0x4551, 0x4555, 0x4557, 0x4570, 0x4571}},
      {"Jasper Lake", {0x4e51, 0x4e55, 0x4e57, 0x4e61, 0x4e71}},
      {"Tiger Lake", {0x9a40, 0x9a49, 0x9a59, 0x9a60, 0x9a68, 0x9a70, 0x9a78, 0x9ac0, 0x9ac9, 0x9ad9, 0x9af8}},
      {"Rocket Lake", {0x4c80, 0x4c8a, 0x4c8b, 0x4c8c, 0x4c90, 0x4c9a}},
      {"DG1", {0x4905, 0x4906, 0x4908, 0x4909}},
      {"SG1", {0x4907}},
      {"Alder Lake-S", {0x4680, 0x4682, 0x4688, 0x468a, 0x468b, 0x4690, 0x4692, 0x4693}},
      {"Alder Lake-P",
       {0x46a0, 0x46a1, 0x46a2, 0x46a3, 0x46a6, 0x46a8, 0x46aa, 0x462a, 0x4626, 0x4628, 0x46b0, 0x46b1, 0x46b2,
        0x46b3}},
      {"Alder Lake-M", {0x46c0, 0x46c1, 0x46c2, 0x46c3}},
      {"Alder Lake-N", {0x46d0, 0x46d1, 0x46d2}},
      {"Twin Lake", {0x46d3, 0x46d4}},
      {"Raptor Lake-S", {0xa780, 0xa781, 0xa782, 0xa783, 0xa788, 0xa789, 0xa78a, 0xa78b}},
      {"Raptor Lake-U", {0xa721, 0xa7a1, 0xa7a9, 0xa7ac, 0xa7ad}},
      {"Raptor Lake-P", {0xa720, 0xa7a0, 0xa7a8, 0xa7aa, 0xa7ab}},
      {"DG2", {0x5690, 0x5691, 0x5692, 0x5693, 0x5694, 0x5695, 0x5696, 0x5697, 0x56a0, 0x56a1, 0x56a2, 0x56a3, 0x56a4,
               0x56a5, 0x56a6, 0x56b0, 0x56b1, 0x56b2, 0x56b3, 0x56ba, 0x56bb, 0x56bc, 0x56bd, 0x56be, 0x56bf}},
      {"ATS-M", {0x56c0, 0x56c1, 0x56c2}},
      {"Meteor Lake", {0x7d40, 0x7d45, 0x7d55, 0x7d60, 0x7dd5}},
      {"Arrow Lake", {0x7d41, 0x7d51, 0x7d67, 0x7dd1, 0xb640}},
      {"Ponte Vecchio",
       {0x0b69, 0x0b6e, 0x0bd4, 0x0bd5, 0x0bd6, 0x0bd7, 0x0bd8, 0x0bd9, 0x0bda, 0x0bdb, 0x0be0, 0x0be1, 0x0be5}},
      {"Lunar Lake", {0x6420, 0x64a0, 0x64b0}},
      {"Battlemage G21", {0xe202, 0xe209, 0xe20b, 0xe20c, 0xe20d, 0xe210, 0xe211, 0xe212, 0xe216}},
      {"Battlemage G31", {0xe220, 0xe221, 0xe222, 0xe223}},
      {"Panther Lake",
       {0xb080, 0xb081, 0xb082, 0xb083, 0xb084, 0xb085, 0xb086, 0xb087, 0xb08f, 0xb090, 0xb0a0, 0xb0b0}},
      {"Wildcat Lake", {0xfd80, 0xfd81}},
      {"Nova Lake",
       {0xd740, 0xd741, 0xd742, 0xd743, 0xd745, 0xd74a, 0xd74b, 0xd750, 0xd751, 0xd752, 0xd753, 0xd754, 0xd755, 0xd756,
        0xd757, 0xd75f}},
      {"Crescent Island", {0x674c, 0x674d, 0x674e, 0x674f, 0x6750}}};
  return families;
}

}  // namespace

TEST_SUITE_BEGIN("intel_gpu_names");

TEST_CASE("every GPU that the kernel's drivers know from Ice Lake on has the name of its family") {
  for (const Family& family : kernel_ids()) {
    for (const std::uint16_t id : family.ids) {
      CAPTURE(id);
      CHECK(std::string(intel_gpu_name(id)).starts_with(family.name));
    }
  }
}

TEST_CASE("cards have their product name") {
  CHECK(intel_gpu_name(0x56a0) == "DG2 [Arc A770]");
  CHECK(intel_gpu_name(0xe20b) == "Battlemage G21 [Arc B580]");
  CHECK(intel_gpu_name(0xe222) == "Battlemage G31 [Arc Pro B65]");
  CHECK(intel_gpu_name(0x56c1) == "ATS-M [Data Center GPU Flex 140]");
}

TEST_CASE("a card has the product name of the installed pci.ids, if that has one") {
  std::ifstream list("/usr/share/misc/pci.ids");
  const std::string text((std::istreambuf_iterator<char>(list)), {});
  REQUIRE_FALSE(text.empty());  // tests/run installs it
  for (const Family& family : kernel_ids()) {
    const std::string_view name = family.name;
    if (!name.starts_with("DG") && name != "SG1" && name != "ATS-M" && name != "Ponte Vecchio" &&
        !name.starts_with("Battlemage"))
      continue;
    for (const std::uint16_t id : family.ids) {
      igpu::PciDeviceSearch search(0x8086, id);
      (void)search.add(text);
      search.end();
      const std::size_t bracket = search.name().find('[');
      if (bracket == std::string::npos || search.name().ends_with("[Intel Graphics]")) continue;  // not yet named
      CAPTURE(id);
      CHECK(std::string(intel_gpu_name(id)).ends_with(search.name().substr(bracket)));
    }
  }
}

TEST_CASE("no id is in two families, and unknown ids have no name") {
  std::map<std::uint16_t, std::string> seen;
  for (const Family& family : kernel_ids())
    for (const std::uint16_t id : family.ids) CHECK(seen.emplace(id, family.name).second);
  CHECK(intel_gpu_name(0).empty());
  CHECK(intel_gpu_name(0x1234).empty());
  CHECK(intel_gpu_name(0xffff).empty());
}

TEST_SUITE_END();
