// SPDX-License-Identifier: Apache-2.0
#include "machine/tracepoints.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/trace_records.h"

using namespace igpu;
using namespace igpu::test;

namespace {

std::vector<std::string> rings_in(const std::vector<std::byte>& ring, std::uint64_t tail, std::uint64_t head,
                                  TraceRingCounts& counts) {
  const TraceFormat format = captured_format("gpu_scheduler", "drm_sched_job");
  std::vector<std::string> names;
  const std::uint64_t end = read_trace_ring(
      ring, tail, head, 3,
      [&](const TraceRecord& record) {
        CHECK(record.cpu == 3);
        names.emplace_back(record.text(*format.find("name")));
      },
      counts);
  CHECK(end == head);
  return names;
}

std::vector<std::byte> sample(const char* ring) {
  return RecordBuilder("gpu_scheduler", "drm_sched_job").set("name", ring).sample();
}

}  // namespace

TEST_SUITE_BEGIN("tracepoints");

TEST_CASE("a format file gives the number of the event and where its fields are") {
  const TraceFormat format = captured_format("gpu_scheduler", "drm_sched_job");
  CHECK(format.name == "drm_sched_job");
  CHECK(format.id == 1501);
  const TraceField* const fence = format.find("fence");
  REQUIRE(fence);
  CHECK(fence->offset == 16);
  CHECK(fence->size == 8);
  const TraceField* const name = format.find("name");
  REQUIRE(name);
  CHECK(name->is_text);
  CHECK(format.find("hw_job_count")->is_signed);
  CHECK(format.find("nothing") == nullptr);
  CHECK(captured_format("sched", "sched_switch").find("next_comm")->size == 16);
}

TEST_CASE("a text that is no format file is rejected") {
  CHECK_FALSE(parse_trace_format(""));
  CHECK_FALSE(parse_trace_format("name: x\nformat:\n"));
  CHECK_FALSE(parse_trace_format("name: x\nID: 70000\n\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n"));
  CHECK_FALSE(parse_trace_format("ID: 7\n\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n"));
  CHECK_FALSE(parse_trace_format("name: x\nID: 7\n\tfield:int a;\toffset:zero;\tsize:4;\tsigned:1;\n"));
}

TEST_CASE("fields of a record: numbers of every size, with sign, and texts") {
  RecordBuilder builder("i915", "i915_request_in");
  builder.set("ctx", std::uint64_t{0x1234567890}).set("class", std::uint64_t{2}).set("prio", ~std::uint64_t{0});
  builder.by(40, 41).in_interrupt();
  const TraceFormat format = captured_format("i915", "i915_request_in");
  const TraceRecord record = builder.record();
  CHECK(record.event_id() == format.id);
  CHECK(record.tid == 41);
  CHECK(record.in_hard_interrupt());
  CHECK(record.number(*format.find("ctx")) == 0x1234567890);
  CHECK(record.number(*format.find("class")) == 2);
  CHECK(static_cast<std::int64_t>(record.number(*format.find("prio"))) == -1);

  RecordBuilder comm("sched", "sched_switch");
  comm.set("next_comm", "ffmpeg");
  CHECK(comm.record().text(*captured_format("sched", "sched_switch").find("next_comm")) == "ffmpeg");
}

TEST_CASE("fields beyond the end of a record are zero or empty") {
  RecordBuilder builder("gpu_scheduler", "drm_sched_job");
  builder.set("name", "rcs1").set("id", std::uint64_t{5});
  TraceRecord record = builder.record();
  const TraceFormat format = captured_format("gpu_scheduler", "drm_sched_job");
  record.data = record.data.first(30);
  CHECK(record.number(*format.find("id")) == 0);
  CHECK(record.text(*format.find("name")).empty());
}

TEST_CASE("records are read from a ring, also across its end") {
  std::vector<std::byte> ring(512);
  const auto first = sample("rcs1"), second = sample("vcs2");
  const std::uint64_t tail = 512 * 3 + 512 - 40;
  std::uint64_t at = tail;
  for (const auto& bytes : {first, second})
    for (const std::byte byte : bytes) ring[at++ % ring.size()] = byte;
  TraceRingCounts counts;
  CHECK(rings_in(ring, tail, at, counts) == std::vector<std::string>{"rcs1", "vcs2"});
  CHECK(counts.records == 2);
  CHECK(counts.damaged == 0);
}

TEST_CASE("lost records that the ring reports are added up") {
  std::vector<std::byte> ring;
  const auto append = [&](std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) ring.push_back(static_cast<std::byte>(value >> (8 * i)));
  };
  append(2, 4);
  append(0, 2);
  append(24, 2);
  append(1, 8);
  append(77, 8);
  const auto after = sample("rcs1");
  ring.insert(ring.end(), after.begin(), after.end());
  TraceRingCounts counts;
  CHECK(rings_in(ring, 0, ring.size(), counts).size() == 1);
  CHECK(counts.lost == 77);
}

TEST_CASE("a record that cannot be right ends the reading and is counted") {
  auto ring = sample("rcs1");
  const auto broken = sample("rcs2");
  ring.insert(ring.end(), broken.begin(), broken.end());
  SUBCASE("no length") { ring[broken.size() + 6] = std::byte{0}; }
  SUBCASE("longer than what is left") { ring[broken.size() + 6] = std::byte{0xf8}; }
  SUBCASE("raw data longer than the record") { ring[broken.size() + 24] = std::byte{0xff}; }
  TraceRingCounts counts;
  CHECK(rings_in(ring, 0, ring.size(), counts) == std::vector<std::string>{"rcs1"});
  CHECK(counts.damaged == 1);
}

TEST_CASE("a ring that overtook its reader is given up once") {
  std::vector<std::byte> ring(64);
  TraceRingCounts counts;
  CHECK(rings_in(ring, 0, 200, counts).empty());
  CHECK(counts.damaged == 1);
}
