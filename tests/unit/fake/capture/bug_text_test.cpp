// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "fake/capture/bug_files.h"

using namespace igpu;

namespace {

std::string masked(std::string_view line) {
  capture::Masks masks;
  return masked_log_text(line, masks);
}

}  // namespace

TEST_SUITE_BEGIN("bug texts");

TEST_CASE("lines that name processes keep all but the name") {
  CHECK(masked("xe 0000:03:00.0: [drm] Tile0: GT0: Timedout job: seqno=1, lrc_seqno=1, guc_id=27, flags=0x0 in secret "
               "app [19639]") ==
        "xe 0000:03:00.0: [drm] Tile0: GT0: Timedout job: seqno=1, lrc_seqno=1, guc_id=27, flags=0x0 in process1 "
        "[19639]");
  CHECK(masked("i915 0000:00:02.0: [drm] GPU HANG: ecode 12:8:2cffbffd, in secret [504625]") ==
        "i915 0000:00:02.0: [drm] GPU HANG: ecode 12:8:2cffbffd, in process1 [504625]");
  CHECK(masked("i915 0000:00:02.0: [drm] GPU HANG: ecode 9:1:0xdf10fbff, in secret [512], hang on rcs0") ==
        "i915 0000:00:02.0: [drm] GPU HANG: ecode 9:1:0xdf10fbff, in process1 [512], hang on rcs0");
  CHECK(masked("i915 0000:00:02.0: [drm] GT0: secret[504625] context reset due to GPU hang") ==
        "i915 0000:00:02.0: [drm] GT0: process1[504625] context reset due to GPU hang");
  CHECK(masked("Fence expiration time out i915-0000:28:00.0:secret<605631>:2!") ==
        "Fence expiration time out i915-0000:28:00.0:process1<605631>:2!");
  CHECK(masked("CPU: 3 UID: 1000 PID: 42 Comm: secret Not tainted 6.12.0 #1") ==
        "CPU: 3 UID: 1000 PID: 42 Comm: process1 Not tainted 6.12.0 #1");
}

TEST_CASE("a hostile name is masked whole: brackets, another fault, delimiters, escapes") {
  CHECK(masked("xe 0000:03:00.0: [drm] GT0: Timedout job: seqno=1, guc_id=1, flags=0x0 in a [1] in b: secret [7]") ==
        "xe 0000:03:00.0: [drm] GT0: Timedout job: seqno=1, guc_id=1, flags=0x0 in process1 [7]");
  CHECK(masked("i915 0000:00:02.0: [drm] GPU HANG: ecode 12:8:0, in x, in secret\\x0a [7]") ==
        "i915 0000:00:02.0: [drm] GPU HANG: ecode 12:8:0, in process1 [7]");
  CHECK(masked("xe 0000:03:00.0: [drm] Timedout job: seqno=1, flags=0x0 in secret Comm: a [7]") ==
        "xe 0000:03:00.0: [drm] Timedout job: seqno=1, flags=0x0 in process1 [7]");
  CHECK(masked("xe 0000:03:00.0: [drm] Timedout job: seqno=1, flags=0x0 in secret comm=\"x [19639]") ==
        "xe 0000:03:00.0: [drm] Timedout job: seqno=1, flags=0x0 in process1 [19639]");
  CHECK(masked("CPU: 3 PID: 42 Comm: a Tainted secret Tainted: G") == "CPU: 3 PID: 42 Comm: process1 Tainted: G");
}

TEST_CASE("names in quotation marks, and jobs of the kernel") {
  CHECK(masked("[drm:drm_ioctl [drm]] comm=\"secret\" pid=900, dev=0xe201, auth=1, DRM_IOCTL_MODE_ADDFB2") ==
        "[drm:drm_ioctl [drm]] comm=\"process1\" pid=900, dev=0xe201, auth=1, DRM_IOCTL_MODE_ADDFB2");
  CHECK(masked("[drm:drm_ioctl [drm]] comm=\"se\"cret\" pid=900") == "[drm:drm_ioctl [drm]] comm=\"process1\" pid=900");
  constexpr std::string_view kKernel = "xe 0000:03:00.0: [drm] Timedout job: seqno=1, flags=0x0 in no process [-1]";
  CHECK(masked(kKernel) == kKernel);
}

TEST_CASE("what is about the hardware, and what only names its address") {
  CHECK(is_about_device("pcieport 0000:00:01.0: AER: Corrected error received: 0000:03:00.0"));
  CHECK(is_about_device("DMAR: [DMA Read NO_PASID] Request device [0000:03:00.0] fault addr 0x0"));
  CHECK(!is_about_device(
      "audit: type=1400 audit(1:2): apparmor=\"DENIED\" name=\"/sys/devices/pci0000:00/0000:00:02.0/\""));
  for (const std::string_view line :
       {"WARNING: CPU: 3 PID: 42 at drivers/gpu/drm/xe/xe_guc.c:1 xe_guc_x+0x1/0x2 [xe]",
        "RIP: 0010:xe_guc_x+0x1/0x2 [xe]", " <TASK>", " ? __warn+0x81/0x130", "Call Trace:"})
    CHECK(is_of_warning(line));
  for (const std::string_view line :
       {"[UFW BLOCK] IN=eth0 SRC=10.0.0.1", "usb 1-2: SerialNumber: 0123", "audit: type=1400", ""})
    CHECK(!is_of_warning(line));
}

TEST_CASE("lines that name nobody stay; what an unknown line could say about a process is left out") {
  for (const std::string_view line :
       {"xe 0000:03:00.0: [drm] Tile0: GT0: Engine memory CAT error [18]: class=bcs, logical_mask: 0x1, guc_id=18",
        "xe 0000:03:00.0: [drm] Tile0: GT0: Using GuC firmware from i915/tgl_guc_70.bin version 70.49.4",
        "i915 0000:00:02.0: [drm] *ERROR* GT0: GUC: Engine reset failed on 0:0 (rcs0) because 0x00000000",
        "[drm:intel_dp_detect [i915]] connected", "xe", ""})
    CHECK(masked(line) == line);
  CHECK(masked("i915 0000:00:02.0: [drm] client My secret: app[12]: gained 3 ban score") ==
        "i915 0000:00:02.0: [drm] ...[12]: gained 3 ban score");
  CHECK(masked("xe 0000:03:00.0: [drm] owner secret <12>") == "xe 0000:03:00.0: [drm] ...<12>");
}

TEST_CASE("the same name has the same mask in the log and in a dump") {
  capture::Masks masks;
  const std::string dump =
      "**** Xe Device Coredump ****\nkernel: 6.14.0\nProcess: secret app [7]\n**** Job ****\n"
      "Process: old secret\nGPU HANG: ecode 12:4:487dff88, in secret app [7]\n"
      "Active process (on ring vcs0): secret app [7]\n  Active context: secret app[7] prio 0\n"
      "\t[HWCTX].data: zzz[7]<3\n";
  CHECK(masked_dump(dump, masks) ==
        "**** Xe Device Coredump ****\nkernel: 6.14.0\nProcess: process1 [7]\n**** Job ****\n"
        "Process: process2\nGPU HANG: ecode 12:4:487dff88, in process1 [7]\n"
        "Active process (on ring vcs0): process1 [7]\n  Active context: process1[7] prio 0\n"
        "\t[HWCTX].data: zzz[7]<3\n");
  CHECK(masked_log_text("xe 0000:03:00.0: [drm] Timedout job: flags=0x0 in secret app [7]", masks) ==
        "xe 0000:03:00.0: [drm] Timedout job: flags=0x0 in process1 [7]");
}

TEST_CASE("of the command line only what concerns graphics, PCI and power keeps its value") {
  CHECK(masked_command_line("BOOT_IMAGE=/vmlinuz-6.12 root=UUID=1234 ro quiet i915.enable_guc=3 xe.force_probe=56a0 "
                            "pcie_aspm=off intel_iommu=on,sm_on video=HDMI-A-1:d token=\"se cret\" password -- secret "
                            "i915.secret=1\n") ==
        "BOOT_IMAGE=... root=... ro quiet i915.enable_guc=3 xe.force_probe=56a0 pcie_aspm=off intel_iommu=on,sm_on "
        "video=HDMI-A-1:d token=... ... ... ... ...");
  CHECK(masked_command_line("") == "");
}

TEST_SUITE_END();
