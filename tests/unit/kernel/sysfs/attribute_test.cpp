// SPDX-License-Identifier: Apache-2.0
#include "kernel/sysfs/attribute.h"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>

#include "support/test_machine.h"

TEST_SUITE_BEGIN("attribute");

using namespace igpu;
using igpu::test::TestMachine;

TEST_CASE("a file is opened once and read each time") {
  TestMachine m;
  m.tree.write("sys/a/number", "1300\n");
  Attribute attribute(m.sys, "a/number");
  CHECK(attribute.number().value_or(0) == 1300);
  m.tree.write("sys/a/number", "1350\n");
  CHECK(attribute.number().value_or(0) == 1350);
  CHECK(m.sys.opens() == 1);
  CHECK(m.sys.reads() == 2);
}

TEST_CASE("anything but one number in range is a failure that names the file") {
  TestMachine m;
  for (const char* text :
       {"", "\n", "garbage\n", "-5\n", "99999999999999999999999\n", "12 13\n", "12MHz\n", "0x12\n"}) {
    CAPTURE(text);
    m.tree.write("sys/a/number", text);
    const auto value = Attribute(m.sys, "a/number").number();
    REQUIRE(value.is_failure());
    CHECK(value.failure().where == "a/number");
  }
  m.tree.write("sys/a/number", "-5\n");
  CHECK(Attribute(m.sys, "a/number").signed_number().value_or(0) == -5);
}

TEST_CASE("a file that failed once recovers at the next read") {
  TestMachine m;
  m.tree.write("sys/a/number", "7\n");
  Attribute attribute(m.sys, "a/number");
  CHECK(attribute.number());
  m.sys.fail_reading("a/number", EIO);
  const auto failed = attribute.number();
  REQUIRE(failed.is_failure());
  CHECK(failed.failure().code == std::errc::io_error);
  m.sys.heal();
  CHECK(attribute.number().value_or(0) == 7);
}

TEST_CASE("missing, not permitted and disappeared files are distinguished") {
  TestMachine m;
  const auto missing = Attribute(m.sys, "a/number").number();
  REQUIRE(missing.is_absent());
  CHECK(missing.absent() == Absent{Reason::kernel, ENOENT});

  m.tree.write("sys/a/number", "7\n");
  m.sys.refuse_opening("a/number", EACCES);
  Attribute attribute(m.sys, "a/number");
  auto value = attribute.number();
  REQUIRE(value.is_absent());
  CHECK(value.absent() == Absent{Reason::permission, EACCES});
  m.sys.heal();
  CHECK(attribute.number().value_or(0) == 7);  // permissions may be given while we run

  m.sys.fail_reading("a/number", ENODEV);
  value = attribute.number();
  REQUIRE(value.is_absent());
  CHECK(value.absent() == Absent{Reason::kernel, ENODEV});
}

TEST_CASE("text is trimmed") {
  TestMachine m;
  m.tree.write("sys/a/text", "  pl1 thermal \n");
  std::array<char, 32> buffer;
  CHECK(Attribute(m.sys, "a/text").text(buffer).value_or("") == "pl1 thermal");
  m.tree.write("sys/a/text", "longer than the buffer that is there for it\n");
  CHECK(Attribute(m.sys, "a/text").text(buffer).is_failure());
}

TEST_SUITE_END();
