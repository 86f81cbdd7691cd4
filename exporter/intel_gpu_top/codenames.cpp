// SPDX-License-Identifier: Apache-2.0
#include "intel_gpu_top/codenames.h"

namespace igpu::exporter {
namespace {

struct Range {
  std::uint16_t first, last;
  Codename codename;
};

// The first match counts: narrow ranges come first.
constexpr Range kRanges[] = {
    {0x0155, 0x0155, {"valleyview", 7}},    {0x0157, 0x0157, {"valleyview", 7}},
    {0x0102, 0x0126, {"sandybridge", 6}},   {0x0152, 0x016a, {"ivybridge", 7}},
    {0x0f30, 0x0f33, {"valleyview", 7}},    {0x0a84, 0x0a84, {"broxton", 9}},
    {0x1a84, 0x1a85, {"broxton", 9}},       {0x5a84, 0x5a85, {"broxton", 9}},
    {0x0402, 0x042e, {"haswell", 7}},       {0x0a02, 0x0a2e, {"haswell", 7}},
    {0x0c02, 0x0c2e, {"haswell", 7}},       {0x0d02, 0x0d2e, {"haswell", 7}},
    {0x1602, 0x163e, {"broadwell", 8}},     {0x22b0, 0x22b3, {"cherryview", 8}},
    {0x1902, 0x193d, {"skylake", 9}},       {0x3184, 0x3185, {"geminilake", 9}},
    {0x87ca, 0x87ca, {"coffeelake", 9}},    {0x5902, 0x593b, {"kabylake", 9}},
    {0x87c0, 0x87c0, {"kabylake", 9}},      {0x3e90, 0x3eab, {"coffeelake", 9}},
    {0x9b21, 0x9bf6, {"cometlake", 9}},     {0x5a40, 0x5a5c, {"cannonlake", 10}},
    {0x8a50, 0x8a71, {"icelake", 11}},      {0x4541, 0x4571, {"elkhartlake", 11}},
    {0x4e51, 0x4e71, {"jasperlake", 11}},   {0x9a40, 0x9af8, {"tigerlake", 12}},
    {0x4c80, 0x4c9a, {"rocketlake", 12}},   {0x4905, 0x4909, {"dg1", 12}},
    {0x4680, 0x4693, {"alderlake_s", 12}},  {0x46a0, 0x46c3, {"alderlake_p", 12}},
    {0x46d0, 0x46d4, {"alderlake_n", 12}},  {0xa780, 0xa78b, {"raptorlake_s", 12}},
    {0xa720, 0xa7ad, {"alderlake_p", 12}},  {0x56c0, 0x56c2, {"ats_m", 12}},
    {0x4f80, 0x4f88, {"dg2", 12}},          {0x5690, 0x56bf, {"dg2", 12}},
    {0x0bd0, 0x0be5, {"pontevecchio", 12}}, {0x0b69, 0x0b6e, {"pontevecchio", 12}},
    {0x7d40, 0x7dd5, {"meteorlake", 12}},   {0xb640, 0xb640, {"meteorlake", 12}},
    {0x6420, 0x64b0, {"lunarlake", 20}},    {0xe202, 0xe223, {"battlemage", 20}},
    {0xb080, 0xb0ff, {"pantherlake", 30}},
};

}  // namespace

Codename igt_codename(std::uint16_t device_id) {
  for (const Range& range : kRanges)
    if (device_id >= range.first && device_id <= range.last) return range.codename;
  return {};
}

}  // namespace igpu::exporter
