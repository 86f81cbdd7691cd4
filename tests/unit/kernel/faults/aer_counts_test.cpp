// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <string>

#include "kernel/faults/driver_state.h"
#include "kernel/faults/fault_files.h"
#include "support/test_machine.h"

TEST_SUITE_BEGIN("aer_counts");

using namespace igpu;
using igpu::test::TestMachine;

namespace {

// "BadTLP=4 RxErr=0"
std::string shown(const std::vector<AerCount>& counts) {
  std::string text;
  for (const AerCount& count : counts)
    text += (text.empty() ? "" : " ") + count.type + "=" + std::to_string(count.count);
  return text;
}

}  // namespace

TEST_CASE("aer_dev_correctable of a root port: a count for each type; the total is not one of them") {
  CHECK(shown(parse_aer_counts("RxErr 0\nBadTLP 4\nBadDLLP 0\nRollover 0\nTimeout 1\nNonFatalErr 0\nCorrIntErr 0\n"
                               "HeaderOF 0\nTOTAL_ERR_COR 7\n")) ==
        "RxErr=0 BadTLP=4 BadDLLP=0 Rollover=0 Timeout=1 NonFatalErr=0 CorrIntErr=0 HeaderOF=0");
}

TEST_CASE("kernels before 5.0 write the names in words: the count is the last word") {
  CHECK(shown(parse_aer_counts("Receiver Error 0\nBad TLP 12\nReplay Timer Timeout 3\nTOTAL_ERR_COR 15\n")) ==
        "Receiver Error=0 Bad TLP=12 Replay Timer Timeout=3");
}

TEST_CASE("a bit without a name has its number, and is there only once it was counted") {
  CHECK(shown(parse_aer_counts("Undefined 0\naer_uncorrectable_error_bit[27] 2\n")) ==
        "Undefined=0 aer_uncorrectable_error_bit[27]=2");
}

TEST_CASE("lines that are no counts are left out") {
  CHECK(parse_aer_counts("").empty());
  CHECK(parse_aer_counts("\n\n \n").empty());
  CHECK(
      shown(parse_aer_counts("RxErr\nBadTLP -1\nBadDLLP 5x\n 7\nTimeout 18446744073709551616\nDLP 18446744073709551615"
                             "\nSDES\t3\n")) == "DLP=18446744073709551615");
  CHECK(parse_aer_counts("a\"b 1\n\xff\xfe 2\n" + std::string(200, 'x') + " 3\n").empty());
  CHECK(shown(parse_aer_counts("RxErr 1\nRxErr 2\n")) == "RxErr=1");
}

TEST_CASE("an Arc card: GPU, both ports of its switch, root port") {
  const auto ports = pcie_ports("devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:03:00.0");
  REQUIRE(ports.size() == 4);
  CHECK(ports[0].port == "endpoint");
  CHECK(ports[0].path.ends_with("/0000:03:00.0"));
  CHECK(ports[1].port == "switch_downstream");
  CHECK(ports[1].path.ends_with("/0000:02:01.0"));
  CHECK(ports[2].port == "switch_upstream");
  CHECK(ports[2].path.ends_with("/0000:01:00.0"));
  CHECK(ports[3].port == "root");
  CHECK(ports[3].path == "devices/pci0000:00/0000:00:01.0");
}

TEST_CASE("a virtual machine shows the GPU only; a volume management device has root ports of its own") {
  const auto guest = pcie_ports("devices/pci0000:00/0000:00:05.0");
  REQUIRE(guest.size() == 1);
  CHECK(guest[0].port == "endpoint");
  const auto vmd = pcie_ports("devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:01.0/10000:e1:00.0");
  REQUIRE(vmd.size() == 2);
  CHECK(vmd[1].port == "root");
  CHECK(vmd[1].path.ends_with("/10000:e0:01.0"));
}

TEST_CASE("a function without AER files has no counts; one that cannot be read is a failure") {
  TestMachine m;
  m.tree.write("sys/devices/pci0000:00/0000:00:01.0/aer_dev_fatal", "DLP 1\nTOTAL_ERR_FATAL 1\n");
  const std::string port = "devices/pci0000:00/0000:00:01.0";
  const auto fatal = read_aer_counts(m.sys, port, kAerFiles[2]);
  REQUIRE(fatal);
  CHECK(shown(*fatal) == "DLP=1");
  const auto none = read_aer_counts(m.sys, port, kAerFiles[0]);
  REQUIRE(none.is_absent());
  CHECK(none.absent().os_error == ENOENT);
  m.sys.fail_reading("aer_dev_fatal", EIO);
  CHECK(read_aer_counts(m.sys, port, kAerFiles[2]).is_failure());
}

TEST_CASE("survivability mode is the existence of a file that only root can read") {
  TestMachine m;
  const std::string card = "devices/pci0000:00/0000:03:00.0";
  m.tree.write("sys/" + card + "/vendor", "0x8086\n");
  CHECK_FALSE(in_survivability_mode(m.sys, card).value_or(true));
  m.tree.write("sys/" + card + "/survivability_mode", "Boot\n");
  m.tree.set_mode("sys/" + card + "/survivability_mode", 0);
  CHECK(in_survivability_mode(m.sys, card).value_or(false));
}

TEST_SUITE_END();
