// SPDX-License-Identifier: Apache-2.0
// The lines of i915 and xe about faults, from Linux 5.10 to 7.x, and what they say.
#include "kernel/faults/fault_text.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>

using namespace igpu;

namespace {

constexpr std::string_view kAddress = "0000:03:00.0";

std::optional<FaultLine> parse(std::string_view text, unsigned facility = 0, std::string_view device = kAddress) {
  KernelLogRecord record;
  record.facility = facility;
  record.text = text;
  record.pci_device = device;
  return parse_fault_line(record);
}

struct Expected {
  std::string text;
  FaultSign sign;
  std::optional<EngineClass> engine_class = {};
  std::optional<FaultProcess> process = {};
  std::optional<std::uint32_t> queue = {};
};

void check(const std::string& prefix, Driver driver, const Expected& expected) {
  const std::string text = prefix + expected.text;
  INFO(text);
  const auto line = parse(text);
  REQUIRE(line);
  CHECK(line->driver == driver);
  CHECK(line->device == kAddress);
  CHECK(static_cast<int>(line->sign) == static_cast<int>(expected.sign));
  CHECK((line->engine_class == expected.engine_class));
  CHECK((line->process == expected.process));
  CHECK((line->queue == expected.queue));
}

}  // namespace

TEST_SUITE_BEGIN("fault text");

TEST_CASE("i915, every variant of a hang") {
  const std::string prefix = "i915 0000:03:00.0: [drm] ";
  for (const Expected& expected : {
           Expected{"GPU HANG: ecode 12:4:487dff88, in ffmpeg [19639]", FaultSign::hang, EngineClass::video,
                    FaultProcess{19639, "ffmpeg"}},
           Expected{"GPU HANG: ecode 12:1:85dffffb, in av:h264:df0 [991797]", FaultSign::hang, EngineClass::render,
                    FaultProcess{991797, "av:h264:df0"}},
           Expected{"GPU HANG: ecode 12:8:2cffbffd, in ffmpeg [504625]", FaultSign::hang, EngineClass::video_enhance,
                    FaultProcess{504625, "ffmpeg"}},
           Expected{"GPU HANG: ecode 12:10:9d9dffff, in python3 [7]", FaultSign::hang, EngineClass::compute,
                    FaultProcess{7, "python3"}},
           Expected{"GPU HANG: ecode 12:2:9d9dffff", FaultSign::hang, EngineClass::copy},
           Expected{"GPU HANG: ecode 12:0:00000000", FaultSign::hang},
           Expected{"GPU HANG: ecode 11:0:0x00000000, hang on rcs0, vcs0", FaultSign::hang, EngineClass::render},
           Expected{"GPU HANG: ecode 9:1:0xdf10fbff, in Xorg [512], hang on vecs0", FaultSign::hang,
                    EngineClass::video_enhance, FaultProcess{512, "Xorg"}},
       })
    check(prefix, Driver::i915, expected);
}

TEST_CASE("i915 of Linux 5.x, whose lines have no name of a component") {
  check("i915 0000:03:00.0: ", Driver::i915,
        {"GPU HANG: ecode 9:0:0x00000000, hang on rcs0", FaultSign::hang, EngineClass::render});
  check("i915 0000:03:00.0: ", Driver::i915, {"Resetting chip for hang on rcs0", FaultSign::full_reset});
}

TEST_CASE("i915, what comes with a hang or without one") {
  check("i915 0000:03:00.0: [drm] ", Driver::i915, {"device wedged, needs recovery", FaultSign::wedged});
  check("i915 0000:03:00.0: [drm] ", Driver::i915,
        {"Resetting chip for stopped heartbeat on rcs0", FaultSign::full_reset});
  check("i915 0000:03:00.0: [drm] GT0: ", Driver::i915, {"Resetting chip for CS error", FaultSign::full_reset});
  check("i915 0000:03:00.0: [drm] *ERROR* GT0: ", Driver::i915, {"Failed to reset chip", FaultSign::wedged});
  check("i915 0000:03:00.0: [drm] *ERROR* ", Driver::i915, {"Failed to reset chip", FaultSign::wedged});
  check("i915 0000:03:00.0: [drm] *ERROR* GT0: GUC: ", Driver::i915,
        {"Engine reset failed on 0:0 (rcs0) because 0x00000000", FaultSign::engine_reset_failed});
  check("i915 0000:03:00.0: [drm] *ERROR* GT0: GUC: ", Driver::i915,
        {"TLB invalidation response timed out for seqno 7", FaultSign::firmware});
  check("i915 0000:03:00.0: [drm] *ERROR* ", Driver::i915,
        {"vcs0 reset request timed out: {request: 00000001, RESET_CTL: 00000001}", FaultSign::firmware});
  for (const char* text :
       {"i915 0000:03:00.0: [drm] Resetting vecs0 for preemption time out",
        "i915 0000:03:00.0: [drm] ffmpeg[505780] context reset due to GPU hang",
        "i915 0000:03:00.0: [drm] GPU error state saved to /sys/class/drm/card0/error",
        "i915 0000:03:00.0: [drm] GuC firmware i915/dg2_guc_70.bin version 70.20.0", "i915 0000:03:00.0: [drm] ",
        "i915 0000:03:00.0: [drm", "i915 0000:03:00.0", "i915 ", "i915"}) {
    INFO(text);
    CHECK_FALSE(parse(text));
  }
}

TEST_CASE("i915, a request that was not done in 20 s has no prefix: the device is in its name") {
  const auto line = parse("Fence expiration time out i915-0000:28:00.0:ffmpeg[575520]:2!", 0, "");
  REQUIRE(line);
  CHECK((line->sign == FaultSign::fence_expired));
  CHECK(line->device == "0000:28:00.0");
  CHECK((line->process == FaultProcess{575520, "ffmpeg"}));
  const auto closed = parse("Fence expiration time out i915-0000:28:00.0:ffmpeg<605631>:1a!", 0, "");
  REQUIRE(closed);
  CHECK((closed->process == FaultProcess{605631, "ffmpeg"}));
  const auto hostile = parse("Fence expiration time out i915-0000:28:00.0:a:b[1]:2![7]:2!", 0, "");
  REQUIRE(hostile);
  CHECK((hostile->process == FaultProcess{7, "a:b[1]:2!"}));
  for (const char* bad : {"Fence expiration time out i915-0000:28:00.0", "Fence expiration time out i915-!",
                          "Fence expiration time out i915-a:b:c!", "Fence expiration time out drm_sched:1!"}) {
    INFO(bad);
    CHECK_FALSE(parse(bad, 0, ""));
  }
}

TEST_CASE("xe, with the GT as each kernel writes it") {
  for (const char* gt : {"GT0: ", "Tile0: GT0: ", "Tile1: GT12: "}) {
    const std::string prefix = "xe 0000:03:00.0: [drm] " + std::string(gt);
    check(prefix, Driver::xe,
          {"Timedout job: seqno=4294967169, guc_id=3, flags=0x0", FaultSign::job_timeout, {}, {}, 3});
    check(prefix, Driver::xe,
          {"Timedout job: seqno=4294967169, lrc_seqno=4294967169, guc_id=3, flags=0x0",
           FaultSign::job_timeout,
           {},
           {},
           3});
    check(prefix, Driver::xe,
          {"Timedout job: seqno=1, lrc_seqno=1, guc_id=27, flags=0x0 in ffmpeg [19639]",
           FaultSign::job_timeout,
           {},
           FaultProcess{19639, "ffmpeg"},
           27});
    check(prefix, Driver::xe,
          {"Timedout job: seqno=1, lrc_seqno=1, guc_id=27, flags=0x1 in no process [-1]",
           FaultSign::job_timeout,
           {},
           {},
           27});
    check(prefix, Driver::xe,
          {"Engine reset: engine_class=vcs, logical_mask: 0x1, guc_id=27",
           FaultSign::engine_reset,
           EngineClass::video,
           {},
           27});
    check(prefix, Driver::xe,
          {"Engine reset: engine_class=ccs, logical_mask: 0x1, guc_id=27, state=0x3",
           FaultSign::engine_reset,
           EngineClass::compute,
           {},
           27});
    check(prefix, Driver::xe,
          {"Engine memory CAT error: engine_class=bcs, logical_mask: 0x1, guc_id=18",
           FaultSign::cat_error,
           EngineClass::copy,
           {},
           18});
    check(prefix, Driver::xe,
          {"Engine memory CAT error [18]: class=bcs, logical_mask: 0x1, guc_id=18",
           FaultSign::cat_error,
           EngineClass::copy,
           {},
           18});
    check(prefix, Driver::xe,
          {"Engine memory cat error: engine_class=ccs, logical_mask: 0x1, guc_id=18",
           FaultSign::cat_error,
           EngineClass::compute,
           {},
           18});
    check(prefix, Driver::xe, {"reset started", FaultSign::gt_reset});
    check(prefix, Driver::xe, {"Fault response: Unsuccessful -EINVAL", FaultSign::page_fault});
  }
  for (const char* gt : {"*ERROR* GT0: ", "*ERROR* Tile0: GT0: "}) {
    const std::string prefix = "xe 0000:03:00.0: [drm] " + std::string(gt);
    check(prefix, Driver::xe, {"Memory CAT error reported by GuC!", FaultSign::cat_error});
    check(prefix, Driver::xe,
          {"GuC engine reset request failed on 0:0 because 0x00000000", FaultSign::engine_reset_failed});
    check(prefix, Driver::xe, {"reset failed (-ETIMEDOUT)", FaultSign::gt_reset_failed});
    check(prefix, Driver::xe, {"Schedule disable failed to respond, guc_id=3", FaultSign::firmware, {}, {}, 3});
    check(prefix, Driver::xe, {"Schedule disable failed to respond", FaultSign::firmware});
  }
  check(
      "xe 0000:03:00.0: [drm] *ERROR* ", Driver::xe,
      {"CRITICAL: Xe has declared device 0000:03:00.0 as wedged.\\x0aIOCTLs and executions are blocked. Only a rebind "
       "may clear the failure",
       FaultSign::wedged});
  check("xe 0000:03:00.0: [drm] *ERROR* ", Driver::xe,
        {"CRITICAL: Xe has declared device 0000:03:00.0 as wedged.\\x0aIOCTLs and executions are blocked.\\x0aFor "
         "recovery "
         "procedure, refer to https://docs.kernel.org/gpu/drm-uapi.html#device-wedging",
         FaultSign::wedged});
  check("xe 0000:03:00.0: [drm] ", Driver::xe, {"device wedged, needs recovery", FaultSign::wedged});
  check("xe 0000:03:00.0: [drm:pf_queue_work_func [xe]] ", Driver::xe,
        {"Fault response: Unsuccessful -22", FaultSign::page_fault});
  check("xe 0000:03:00.0: [drm] *ERROR* [Hardware Error]: ", Driver::xe,
        {"HEC Uncorrected FW FD Corruption error reported, bit[2] is set", FaultSign::firmware});
}

TEST_CASE("xe, lines that report no fault") {
  for (const char* text : {
           "xe 0000:03:00.0: [drm] device wedged, but recovered through reset",
           "xe 0000:03:00.0: [drm] GT0: trying reset from guc_exec_queue_timedout_job [xe]",
           "xe 0000:03:00.0: [drm] GT0: reset queued",
           "xe 0000:03:00.0: [drm] GT0: reset done",
           "xe 0000:03:00.0: [drm] Xe device coredump has been created",
           "xe 0000:03:00.0: [drm] GT0: Check job timeout: seqno=1, lrc_seqno=1, guc_id=2, not started",
           "xe 0000:03:00.0: [drm] Tile0: GT0: Check job timeout: seqno=1, lrc_seqno=1, guc_id=2, timestamp stuck",
           "xe 0000:03:00.0: [drm] Xe device coredump has been deleted.",
           "xe 0000:03:00.0: [RAS]: counter threshold crossed, 3 new errors",
           "xe 0000:03:00.0: [drm] Tile0: GT0: \\x0a\\x09ASID: 1\\x0a\\x09VFID: 0",
           "xe 0000:03:00.0: [drm] *ERROR* [Hardware Error]: Tile0 reported NONFATAL error 0x20000",
           "xe 0000:03:00.0: [drm] Tile0: GT0: Using GuC firmware from xe/bmg_guc_70.bin version 70.49.4",
       }) {
    INFO(text);
    CHECK_FALSE(parse(text));
  }
}

TEST_CASE("the function in the prefix of a kernel with dynamic debugging") {
  check("xe 0000:03:00.0: [drm:guc_exec_queue_timedout_job [xe]] ", Driver::xe,
        {"Timedout job: seqno=1, guc_id=3, flags=0x0", FaultSign::job_timeout, {}, {}, 3});
}

TEST_CASE("a line of a program, of another driver, or of another device than its record is none") {
  constexpr std::string_view kLine = "xe 0000:03:00.0: [drm] GT0: reset started";
  CHECK(parse(kLine));
  CHECK_FALSE(parse(kLine, 1));
  CHECK_FALSE(parse(kLine, 0, "0000:04:00.0"));
  CHECK(parse(kLine, 0, ""));  // a kernel without the pair
  CHECK_FALSE(parse("amdgpu 0000:03:00.0: [drm] GT0: reset started"));
  CHECK_FALSE(parse("prefix xe 0000:03:00.0: [drm] GT0: reset started", 0, ""));
  CHECK_FALSE(parse("xe 0000:03:00.0[12]: segfault at 0", 0, ""));  // a process with this name
}

TEST_CASE("a process may have any name") {
  const std::string prefix = "xe 0000:03:00.0: [drm] GT0: Timedout job: seqno=1, lrc_seqno=1, guc_id=3, flags=0x0 in ";
  for (const char* name : {"a b", "x [7]", " in y [8]", "guc_id=9", "GPU HANG: ecode"}) {
    const auto line = parse(prefix + name + " [42]");
    INFO(name);
    REQUIRE(line);
    CHECK((line->queue == std::optional<std::uint32_t>(3)));
    CHECK((line->process == FaultProcess{42, name}));
  }
  const auto escaped = parse(prefix + "a\\x0axe [42]");
  REQUIRE(escaped);
  CHECK((escaped->process == FaultProcess{42, "a\nxe"}));
  // The hang counts; of whom the line says it is, it is not believed.
  for (const std::string& name : {std::string(4096, 'n') + " [42]", std::string("a [4294967296]"), std::string("a []"),
                                  std::string("a [0]"), std::string("[42]"), std::string("a")}) {
    const auto line = parse(prefix + name);
    INFO(name);
    REQUIRE(line);
    CHECK_FALSE(line->process);
  }
}

TEST_CASE("the start of a core dump of xe, by kernel version") {
  const auto parsed = [](const std::string& text) {
    const auto dump = parse_core_dump_start("**** Xe Device Coredump ****\n" + text);
    REQUIRE(dump);
    return *dump;
  };
  const std::string times = "Snapshot time: 1730000000.123456789\nUptime: 3600.123456789\n";
  const std::string gts =
      "PCI ID: 0x7d55\nPCI revision: 0x08\n"
      "GT id: 0\n\tTile: 0\n\tType: main\n\tIP ver: 12.71.4\n\tCS reference clock: 38400000\n"
      "GT id: 1\n\tTile: 0\n\tType: media\n\tIP ver: 13.0.0\n\tCS reference clock: 38400000\n";
  // 6.8, 6.11, 6.13, and later
  const auto first = parsed("kernel: 6.8.0\nmodule: xe\n" + times + "\n**** GuC CT ****\n");
  CHECK_FALSE(first.process);
  CHECK_FALSE(first.queue);
  CHECK_FALSE(first.gt);
  CHECK(first.kind == HangKind::job_timeout);
  CHECK_FALSE(parsed("kernel: 6.11.0\nmodule: xe\n" + times + "Process: ffmpeg\n" + gts).process);  // without an id
  const auto with_gt = parsed("kernel: 6.13.0\nmodule: xe\n" + times + "Process: ffmpeg [19639]\n" + gts +
                              "\n**** GT #1 ****\n\tTile: 0\n\n**** GuC Log ****\n");
  CHECK((with_gt.process == FaultProcess{19639, "ffmpeg"}));
  CHECK(with_gt.gt == 1);
  CHECK_FALSE(with_gt.queue);
  const std::string whole =
      "Reason: Timedout job - seqno=4294967169, lrc_seqno=4294967169, guc_id=65535, flags=0x0\n"
      "kernel: 6.14.0-37-generic\nmodule: xe\n" +
      times + "Process: av:h264:df0 [1] [4194303]\n" + gts + "\n**** GT #0 ****\n\tTile: 0\n";
  const auto last = parsed(whole);
  CHECK(last.queue == 65535);
  CHECK((last.process == FaultProcess{4194303, "av:h264:df0 [1]"}));
  CHECK(last.gt == 0);
  CHECK(whole.size() + 100 < kCoreDumpStartSize);
}

TEST_CASE("the reason of a core dump of xe names the queue, and what happened to it") {
  const auto parsed = [](const std::string& reason) {
    return *parse_core_dump_start("**** Xe Device Coredump ****\nReason: " + reason + "\nkernel: 6.14.0\n");
  };
  CHECK(parsed("Timedout job - seqno=4294967169, lrc_seqno=4294967169, guc_id=3, flags=0x0").queue == 3);
  CHECK(parsed("Timedout job - seqno=1, lrc_seqno=1, guc_id=3, flags=0x0").kind == HangKind::job_timeout);
  CHECK(parsed("LR job cleanup, guc_id=65535").queue == 65535);
  CHECK(parsed("LR job cleanup, guc_id=65535").kind == HangKind::engine_reset);
  CHECK(parsed("Schedule disable failed to respond, guc_id=27, ret=0, guc_read=0").queue == 27);
  CHECK(parsed("Schedule disable failed to respond, guc_id=27, ret=0, guc_read=0").kind == HangKind::firmware);
  CHECK(parsed("Schedule disable failed to respond, guc_id=27\n").queue == 27);
  CHECK_FALSE(parsed("another one").queue);
  CHECK(parsed("another one").kind == HangKind::job_timeout);
  CHECK_FALSE(parsed("LR job cleanup, guc_id=").queue);
}

TEST_CASE("a core dump of another driver, one that is cut off, and a process with a hostile name") {
  const auto parsed = [](const std::string& text) {
    return *parse_core_dump_start("**** Xe Device Coredump ****\n" + text);
  };
  CHECK_FALSE(parse_core_dump_start("**** Another Driver ****\nReason: guc_id=3\nProcess: ffmpeg [19639]\n"));
  CHECK_FALSE(parse_core_dump_start(""));
  CHECK_FALSE(parsed("Process: ffmpeg [19639]").process);  // perhaps in the number
  CHECK_FALSE(parsed("Reason: LR job cleanup, guc_id=3").queue);
  CHECK_FALSE(parsed("\n**** GT #1 ****").gt);
  CHECK_FALSE(parsed("Process: [19639]\n").process);
  CHECK_FALSE(parsed("Process: no process [-1]\n").process);  // the kernel's own
  CHECK_FALSE(parsed("Process: guc_id=3 [7]\n").queue);
  // A name may hold 15 bytes of anything.
  const auto hostile = parsed("Process: a\n**** GT #1 ** [7]\nReason: guc_id=5\nProcess: b [8]\n\n**** GT #0 ****\n");
  CHECK_FALSE(hostile.process);
  CHECK_FALSE(hostile.queue);
  CHECK(hostile.gt == 0);
}

TEST_SUITE_END();
