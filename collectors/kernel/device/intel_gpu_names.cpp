// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <iterator>

#include "kernel/device/discovery.h"

namespace igpu {
namespace {

struct Row {
  std::string_view name;
  std::array<std::uint16_t, 8> ids;  // 0: none
};

constexpr Row kRows[] = {
    // Braswell to Comet Lake: ids missing in pci.ids
    {"Cherry Trail [HD Graphics]", {0x22b2, 0x22b3}},
    {"Skylake GT1 [HD Graphics]", {0x190a, 0x190e}},
    {"Skylake GT1.5 [HD Graphics]", {0x1913, 0x1915, 0x1917}},
    {"Skylake GT2 [HD Graphics]", {0x191a}},
    {"Skylake GT3 [HD Graphics]", {0x192a}},
    {"Broxton [HD Graphics]", {0x0a84, 0x1a84, 0x1a85}},
    {"Kaby Lake GT1 [HD Graphics]", {0x5908, 0x590a, 0x590e}},
    {"Kaby Lake GT1.5 [HD Graphics]", {0x5913, 0x5915}},
    {"Kaby Lake GT2 [HD Graphics P630]", {0x591a}},
    {"Kaby Lake GT4 [HD Graphics]", {0x593b}},
    {"Coffee Lake-S GT1 [UHD Graphics 610]", {0x3e99}},
    {"Coffee Lake-U GT3 [HD Graphics]", {0x3ea7}},
    {"Whiskey Lake GT1 [UHD Graphics]", {0x3ea4}},
    {"Whiskey Lake GT2 [UHD Graphics]", {0x3ea3}},
    {"Whiskey Lake GT3 [UHD Graphics]", {0x3ea2}},
    {"Comet Lake GT1 [UHD Graphics]", {0x9ba2}},
    {"Comet Lake GT1 [UHD Graphics 610]", {0x9ba5}},
    {"Comet Lake GT2 [UHD Graphics]", {0x9bc2}},
    // Ice Lake, Elkhart Lake, Jasper Lake
    {"Ice Lake [HD Graphics]", {0x8a50, 0x8a57, 0x8a59, 0x8a5b, 0x8a5d, 0x8a70, 0x8a71}},
    {"Ice Lake [Iris Plus Graphics]", {0x8a51, 0x8a52, 0x8a53, 0x8a54, 0x8a5a, 0x8a5c}},
    {"Ice Lake [UHD Graphics]", {0x8a56, 0x8a58}},
    {"Elkhart Lake [UHD Graphics]", {0x4541, 0x4551, 0x4555, 0x4557, 0x4570, 0x4571}},
    {"Jasper Lake [UHD Graphics]", {0x4e51, 0x4e55, 0x4e57, 0x4e61, 0x4e71}},
    // Tiger Lake, Rocket Lake, DG1
    {"Tiger Lake GT1 [UHD Graphics]", {0x9a60, 0x9a68, 0x9a70}},
    {"Tiger Lake GT2 [Iris Xe Graphics]", {0x9a40, 0x9a49}},
    {"Tiger Lake GT2 [UHD Graphics]", {0x9a59, 0x9a78, 0x9ac0, 0x9ac9, 0x9ad9, 0x9af8}},
    {"Rocket Lake GT1 [UHD Graphics 750]", {0x4c8a}},
    {"Rocket Lake GT1 [UHD Graphics 730]", {0x4c8b}},
    {"Rocket Lake GT1 [UHD Graphics]", {0x4c80, 0x4c90, 0x4c9a}},
    {"Rocket Lake GT0.5 [UHD Graphics]", {0x4c8c}},
    {"DG1 [Iris Xe MAX Graphics]", {0x4905}},
    {"DG1 [Iris Xe Graphics]", {0x4908}},
    {"DG1 [Iris Xe Pod]", {0x4906}},
    {"DG1 [Iris Xe MAX 100]", {0x4909}},
    {"SG1 [Server GPU SG-18M]", {0x4907}},
    // Alder Lake, Twin Lake, Raptor Lake
    {"Alder Lake-S GT1 [UHD Graphics 770]", {0x4680, 0x4690}},
    {"Alder Lake-S GT1 [UHD Graphics 730]", {0x4682, 0x4692}},
    {"Alder Lake-S GT1 [UHD Graphics 710]", {0x4693}},
    {"Alder Lake-S GT1 [UHD Graphics]", {0x4688, 0x468a}},
    {"Alder Lake-S GT0.5 [UHD Graphics]", {0x468b}},
    {"Alder Lake-P [Iris Xe Graphics]", {0x46a6, 0x46a8, 0x46aa}},
    {"Alder Lake-P [UHD Graphics]", {0x46a0, 0x46a1, 0x46a2, 0x46a3, 0x4626, 0x4628, 0x462a}},
    {"Alder Lake-P [UHD Graphics]", {0x46b0, 0x46b1, 0x46b2, 0x46b3}},
    {"Alder Lake-M [UHD Graphics]", {0x46c0, 0x46c1, 0x46c2, 0x46c3}},
    {"Alder Lake-N [UHD Graphics]", {0x46d0, 0x46d1, 0x46d2}},
    {"Twin Lake [Graphics]", {0x46d3, 0x46d4}},
    {"Raptor Lake-S GT1 [UHD Graphics 770]", {0xa780}},
    {"Raptor Lake-S GT1 [UHD Graphics 730]", {0xa782}},
    {"Raptor Lake-S GT1 [UHD Graphics]", {0xa781, 0xa783, 0xa788, 0xa789, 0xa78a, 0xa78b}},
    {"Raptor Lake-P [Iris Xe Graphics]", {0xa7a0}},
    {"Raptor Lake-P [UHD Graphics]", {0xa720, 0xa7a8, 0xa7aa, 0xa7ab}},
    {"Raptor Lake-U [Iris Xe Graphics]", {0xa7a1}},
    {"Raptor Lake-U [UHD Graphics]", {0xa721, 0xa7a9, 0xa7ac, 0xa7ad}},
    // Alchemist: cards, modules, data centre
    {"DG2 [Arc A770M]", {0x5690}},
    {"DG2 [Arc A730M]", {0x5691}},
    {"DG2 [Arc A550M]", {0x5692}},
    {"DG2 [Arc A370M]", {0x5693}},
    {"DG2 [Arc A350M]", {0x5694}},
    {"DG2 [Arc A570M]", {0x5696}},
    {"DG2 [Arc A530M]", {0x5697}},
    {"DG2 [Arc A770]", {0x56a0}},
    {"DG2 [Arc A750]", {0x56a1}},
    {"DG2 [Arc A580]", {0x56a2}},
    {"DG2 [Arc A380]", {0x56a5}},
    {"DG2 [Arc A310]", {0x56a6}},
    {"DG2 [Arc Pro A30M]", {0x56b0}},
    {"DG2 [Arc Pro A40/A50]", {0x56b1}},
    {"DG2 [Arc Pro A60M]", {0x56b2}},
    {"DG2 [Arc Pro A60]", {0x56b3}},
    {"DG2 [Arc A380E]", {0x56ba}},
    {"DG2 [Arc A310E]", {0x56bb}},
    {"DG2 [Arc A370E]", {0x56bc}},
    {"DG2 [Arc A350E]", {0x56bd}},
    {"DG2 [Arc A750E]", {0x56be}},
    {"DG2 [Arc A580E]", {0x56bf}},
    {"DG2 [Iris Xe MAX A200M]", {0x5695}},
    {"DG2", {0x56a3, 0x56a4}},
    {"ATS-M [Data Center GPU Flex 170]", {0x56c0}},
    {"ATS-M [Data Center GPU Flex 140]", {0x56c1}},
    {"ATS-M [Data Center GPU Flex 170V]", {0x56c2}},
    // Ponte Vecchio
    {"Ponte Vecchio [Data Center GPU Max 1550]", {0x0bd5, 0x0bd6}},
    {"Ponte Vecchio [Data Center GPU Max 1350]", {0x0bd7, 0x0bd8}},
    {"Ponte Vecchio [Data Center GPU Max 1100]", {0x0bd9, 0x0bda, 0x0bdb}},
    {"Ponte Vecchio [Data Center GPU Max]", {0x0b69, 0x0b6e, 0x0bd4, 0x0be0, 0x0be1, 0x0be5}},
    // Meteor Lake, Arrow Lake, Lunar Lake
    {"Meteor Lake-P [Arc Graphics]", {0x7d55}},
    {"Meteor Lake-P [Graphics]", {0x7dd5}},
    {"Meteor Lake-U [Graphics]", {0x7d40, 0x7d45}},
    {"Meteor Lake [Graphics]", {0x7d60}},
    {"Arrow Lake-P [Arc Graphics 130T/140T]", {0x7d51}},
    {"Arrow Lake-P [Graphics]", {0x7dd1}},
    {"Arrow Lake-U [Graphics]", {0x7d41}},
    {"Arrow Lake-S [Graphics]", {0x7d67, 0xb640}},
    {"Lunar Lake [Arc Graphics 130V/140V]", {0x64a0}},
    {"Lunar Lake [Graphics]", {0x6420, 0x64b0}},
    // Battlemage
    {"Battlemage G21 [Arc B580]", {0xe20b}},
    {"Battlemage G21 [Arc B570]", {0xe20c}},
    {"Battlemage G21 [Arc Pro B60]", {0xe211}},
    {"Battlemage G21 [Arc Pro B50]", {0xe212}},
    {"Battlemage G21", {0xe202, 0xe209, 0xe20d, 0xe210, 0xe215, 0xe216}},
    {"Battlemage G31 [Arc Pro B65]", {0xe222}},
    {"Battlemage G31 [Arc Pro B70]", {0xe223}},
    {"Battlemage G31", {0xe220, 0xe221}},
    // Panther Lake, Wildcat Lake
    {"Panther Lake [Arc B390]", {0xb080, 0xb082}},
    {"Panther Lake [Arc B370]", {0xb081, 0xb083}},
    {"Panther Lake [Arc Pro B390]", {0xb084, 0xb086}},
    {"Panther Lake [Arc Pro B370]", {0xb085, 0xb087}},
    {"Panther Lake [Graphics]", {0xb08f, 0xb090, 0xb0a0, 0xb0b0}},
    {"Wildcat Lake [Graphics]", {0xfd80, 0xfd81}},
    // Nova Lake, Crescent Island
    {"Nova Lake-S [Graphics]", {0xd740, 0xd74a, 0xd74b}},
    {"Nova Lake-U [Graphics]", {0xd741}},
    {"Nova Lake-H [Graphics]", {0xd742}},
    {"Nova Lake-HX [Graphics]", {0xd743, 0xd745}},
    {"Nova Lake-P [Graphics]", {0xd750, 0xd751, 0xd752, 0xd753, 0xd754, 0xd755, 0xd756, 0xd757}},
    {"Nova Lake-P [Graphics]", {0xd75f}},
    {"Crescent Island", {0x674c, 0x674d, 0x674e, 0x674f, 0x6750}},
};

}  // namespace

std::string_view intel_gpu_name(std::uint16_t device_id) {
  if (device_id == 0) return {};  // unknown id; unused entries of the rows are 0, too
  const auto* const row = std::ranges::find_if(
      kRows, [&](const Row& candidate) { return std::ranges::find(candidate.ids, device_id) != candidate.ids.end(); });
  return row == std::end(kRows) ? std::string_view() : row->name;
}

}  // namespace igpu
