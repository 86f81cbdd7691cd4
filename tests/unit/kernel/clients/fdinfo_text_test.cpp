// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/fdinfo_text.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "support/paths.h"

using namespace igpu;
using Json = nlohmann::json;

namespace {

const std::filesystem::path kBlocks = std::filesystem::path(igpu::test::source_folder()) / "tests/captures/fdinfo";

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

FdinfoBlock parsed(std::string_view text) {
  FdinfoBlock block;
  REQUIRE(parse_fdinfo(text, block));
  return block;
}

const ClientEngine& engine(const FdinfoBlock& block, EngineClass c) {
  return block.engines[static_cast<std::size_t>(c)];
}

const FdinfoRegion* region(const FdinfoBlock& block, std::string_view name) {
  for (const FdinfoRegion& r : block.regions())
    if (r.name == name) return &r;
  return nullptr;
}

// Members that the block does not have are null or missing in expected.json.
std::string text(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? "" : found->get<std::string>();
}

void check_number(const std::optional<std::uint64_t>& value, const Json& object, const char* name) {
  const auto found = object.find(name);
  CHECK((value ? std::to_string(*value) : "null") == (found == object.end() ? "null" : found->dump()));
}

}  // namespace

TEST_SUITE_BEGIN("fdinfo");

TEST_CASE("every published block is parsed as expected") {
  const Json all = Json::parse(content(kBlocks / "expected.json"));
  CHECK(all.size() == 30);
  for (const auto& [file, expected] : all.items()) {
    const std::string& name = file;  // clang 14 captures no structured binding
    CAPTURE(name);
    const std::string raw = content(kBlocks / name);
    REQUIRE_FALSE(raw.empty());
    FdinfoBlock block;
    const bool drm = parse_fdinfo(raw, block);
    CHECK(drm == !name.starts_with("nondrm"));
    if (!drm) continue;

    CHECK(block.driver == text(expected, "driver"));
    CHECK(block.address == text(expected, "pdev"));
    check_number(block.client_id, expected, "client_id");

    std::size_t engines = 0;
    for (const auto& [engine_key, numbers] : expected.at("engines").items()) {
      const std::string& engine_name = engine_key;
      CAPTURE(engine_name);
      auto engine_class = engine_class_of_fdinfo_name(engine_name);
      if (!engine_class) engine_class = engine_class_of_short_name(engine_name);
      if (!engine_class) continue;  // other drivers' engines
      ++engines;
      const ClientEngine& found = engine(block, *engine_class);
      check_number(found.busy_ns, numbers, "ns");
      check_number(found.cycles, numbers, "cycles");
      check_number(found.total_cycles, numbers, "total_cycles");
      CHECK(std::to_string(found.capacity) == numbers.value("capacity", Json(1)).dump());
    }
    std::size_t present = 0;
    for (const ClientEngine& e : block.engines) present += e.present();
    CHECK(present == engines);

    std::size_t regions = 0;
    for (const auto& [region_key, numbers] : expected.at("memory").items()) {
      const std::string& region_name = region_key;
      CAPTURE(region_name);
      const bool only_legacy = numbers.size() == 1 && numbers.contains("legacy_memory");
      const FdinfoRegion* found = region(block, region_name);
      CHECK((found == nullptr) == only_legacy);
      if (!found) continue;
      ++regions;
      check_number(found->total, numbers, "total");
      check_number(found->shared, numbers, "shared");
      check_number(found->active, numbers, "active");
      check_number(found->resident, numbers, "resident");
      check_number(found->purgeable, numbers, "purgeable");
    }
    CHECK(block.regions().size() == regions);

    const bool intel = block.driver == "i915" || block.driver == "xe";
    const bool whole = intel && block.client_id && !block.address.empty();
    CHECK((kind_of(block) == FdinfoKind::client) == whole);
    CHECK((kind_of(block) == FdinfoKind::other_driver) == (!intel && !block.driver.empty()));
  }
}

TEST_CASE("every block truncated at every byte yields nothing that the whole block does not") {
  for (const auto& entry : std::filesystem::directory_iterator(kBlocks)) {
    if (entry.path().extension() != ".txt") continue;
    const std::string text = content(entry.path());
    FdinfoBlock whole;
    parse_fdinfo(text, whole);
    CAPTURE(entry.path().filename().string());
    for (std::size_t size = 0; size < text.size(); ++size) {
      FdinfoBlock part;
      if (!parse_fdinfo(std::string_view(text).substr(0, size), part)) continue;
      const auto agrees = [](const auto& a, const auto& b) { return !a || a == b; };
      bool good = (part.driver.empty() || part.driver == whole.driver) &&
                  (part.address.empty() || part.address == whole.address) && agrees(part.client_id, whole.client_id);
      for (std::size_t i = 0; i < kEngineClasses; ++i)
        good = good && agrees(part.engines[i].busy_ns, whole.engines[i].busy_ns) &&
               agrees(part.engines[i].cycles, whole.engines[i].cycles) &&
               agrees(part.engines[i].total_cycles, whole.engines[i].total_cycles);
      for (const FdinfoRegion& r : part.regions()) {
        const FdinfoRegion* same = region(whole, r.name);
        good = good && same && agrees(r.total, same->total) && agrees(r.resident, same->resident) &&
               agrees(r.shared, same->shared) && agrees(r.active, same->active) && agrees(r.purgeable, same->purgeable);
      }
      if (!good) FAIL_CHECK("cut at " << size);
    }
  }
}

TEST_CASE("units belong to their line: KiB, MiB, GiB, B, none") {
  const FdinfoBlock block = parsed(
      "drm-total-vram0:\t23992 KiB\n"
      "drm-shared-vram0:\t16 MiB\n"
      "drm-active-vram0:\t2 GiB\n"
      "drm-resident-vram0:\t4097\n"
      "drm-purgeable-vram0:\t0 B\n");
  const FdinfoRegion* vram = region(block, "vram0");
  REQUIRE(vram);
  CHECK(vram->total == 23992ull * 1024);
  CHECK(vram->shared == 16ull * 1024 * 1024);
  CHECK(vram->active == 2ull * 1024 * 1024 * 1024);
  CHECK(vram->resident == 4097);
  CHECK(vram->purgeable == 0);
}

TEST_CASE("an unknown unit, an overflow or a partial number costs only its own line") {
  const FdinfoBlock block = parsed(
      "drm-driver:\txe\n"
      "drm-total-gtt:\t5 furlongs\n"
      "drm-shared-gtt:\t99999999999999999999\n"
      "drm-active-gtt:\t18014398509481984 KiB\n"  // 2^64 bytes
      "drm-purgeable-gtt:\t-1\n"
      "drm-resident-gtt:\t12 KiB\n"
      "drm-cycles-rcs:\t18446744073709551616\n"
      "drm-cycles-bcs:\t18446744073709551615\n"
      "drm-total-cycles-bcs:\tmany\n");
  const FdinfoRegion* gtt = region(block, "gtt");
  REQUIRE(gtt);
  CHECK_FALSE(gtt->total);
  CHECK_FALSE(gtt->shared);
  CHECK_FALSE(gtt->active);
  CHECK_FALSE(gtt->purgeable);
  CHECK(gtt->resident == 12288);
  CHECK_FALSE(engine(block, EngineClass::render).present());
  CHECK(engine(block, EngineClass::copy).cycles == 18446744073709551615ull);
  CHECK_FALSE(engine(block, EngineClass::copy).total_cycles);
}

TEST_CASE("the longer prefix wins: cycles are not memory, a capacity is not an engine") {
  const FdinfoBlock block = parsed(
      "drm-total-cycles-vcs:\t7655183225\n"
      "drm-engine-capacity-video:\t2\n"
      "drm-total-cycles-unheard:\t1\n"
      "drm-engine-capacity-unheard:\t9\n");
  CHECK(block.regions().empty());
  CHECK_FALSE(engine(block, EngineClass::video).busy_ns);
  CHECK(engine(block, EngineClass::video).capacity == 2);
  CHECK(engine(block, EngineClass::video).total_cycles == 7655183225);
}

TEST_CASE("of a repeated key the first counts") {
  const FdinfoBlock block = parsed(
      "drm-driver:\ti915\n"
      "drm-client-id:\t428\n"
      "drm-engine-capacity-video:\t2\n"
      "drm-engine-video:\t10 ns\n"
      "drm-total-system0:\t1 KiB\n"
      "drm-driver:\tamdgpu\n"
      "drm-client-id:\t23\n"
      "drm-engine-capacity-video:\t3\n"
      "drm-engine-video:\t20 ns\n"
      "drm-total-system0:\t2 KiB\n");
  CHECK(block.driver == "i915");
  CHECK(block.client_id == 428);
  CHECK(engine(block, EngineClass::video).capacity == 2);
  CHECK(engine(block, EngineClass::video).busy_ns == 10);
  CHECK(region(block, "system0")->total == 1024);
}

TEST_CASE("blanks around the separator are optional") {
  const FdinfoBlock block = parsed("drm-driver:xe\ndrm-total-gtt: \t22528 KiB\ndrm-cycles-rcs \t:\t 5 \n");
  CHECK(block.driver == "xe");
  CHECK(region(block, "gtt")->total == 22528ull * 1024);
  CHECK(engine(block, EngineClass::render).cycles == 5);
}

TEST_CASE("a capacity of zero is one") {
  CHECK(engine(parsed("drm-engine-capacity-render:\t0\n"), EngineClass::render).capacity == 1);
}

TEST_CASE("an invalid PCI address is ignored") {
  CHECK(parsed("drm-pdev:\t../../etc\n").address == "");
  CHECK(parsed("drm-pdev:\t0000:03:00\n").address == "");
  CHECK(parsed("drm-pdev:\t10000:e1:00.0\n").address == "10000:e1:00.0");
}

TEST_CASE("a region with an empty, control-character or overlong name is skipped; so is the seventeenth") {
  std::string text =
      "drm-total-:\t1\ndrm-total-a\x01:\t1\ndrm-total-\xff:\t1\ndrm-total-" + std::string(65, 'x') + ":\t1\n";
  for (int i = 0; i < 20; ++i) text += "drm-total-r" + std::to_string(i) + ":\t1\n";
  const FdinfoBlock block = parsed(text);
  CHECK(block.regions().size() == FdinfoBlock::kMaxRegions);
  CHECK(block.regions()[0].name == "r0");
  CHECK(block.regions()[15].name == "r15");
}

TEST_CASE("text without DRM keys is rejected") {
  FdinfoBlock block;
  CHECK_FALSE(parse_fdinfo("", block));
  CHECK_FALSE(parse_fdinfo("pos:\t0\nflags:\t02\n", block));
  CHECK_FALSE(parse_fdinfo("inotify wd:1 name:drm-driver:\n", block));
  CHECK_FALSE(parse_fdinfo("drm-without-a-separator\n", block));
}

TEST_CASE("a client without a driver, an id or an address is not counted as one") {
  CHECK(kind_of(parsed("drm-client-id:\t3\ndrm-pdev:\t0000:03:00.0\n")) == FdinfoKind::incomplete);
  CHECK(kind_of(parsed("drm-driver:\ti915\ndrm-client-id:\t3\n")) == FdinfoKind::incomplete);
  CHECK(kind_of(parsed("drm-driver:\txe\ndrm-pdev:\t0000:03:00.0\n")) == FdinfoKind::incomplete);
  CHECK(kind_of(parsed("drm-driver:\txe\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t0\n")) == FdinfoKind::client);
  CHECK(kind_of(parsed("drm-driver:\tnouveau\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t3\n")) ==
        FdinfoKind::other_driver);
}

TEST_SUITE_END();
