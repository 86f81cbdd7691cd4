// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "kernel/faults/kernel_records.h"
#include "support/fake_kernel_messages.h"

using namespace igpu;

TEST_SUITE_BEGIN("uevent");

TEST_CASE("action, path and pairs of a kernel's message") {
  const std::string text =
      test::uevent_text("change", "devices/pci0000:00/0000:00:02.0/drm/card0", "drm", "WEDGED=rebind,bus-reset");
  const auto event = parse_uevent(text);
  REQUIRE(event);
  CHECK(event->action == "change");
  CHECK(event->path == "devices/pci0000:00/0000:00:02.0/drm/card0");
  CHECK(event->value("SUBSYSTEM") == "drm");
  CHECK(event->value("WEDGED") == "rebind,bus-reset");
  CHECK_FALSE(event->value("WEDGE"));
  CHECK_FALSE(event->value("ERROR"));
}

TEST_CASE("udev's own messages, cut ones and others are nothing") {
  using namespace std::string_view_literals;
  for (const std::string_view bad : {""sv, "\0"sv, "libudev\0\xfe\xed"sv, "change@/devices/x"sv, "@/devices/x\0A=B\0"sv,
                                     "change@devices\0A=B\0"sv, "change@/\0A=B\0"sv}) {
    INFO(std::string(bad));
    CHECK_FALSE(parse_uevent(bad));
  }
}

TEST_CASE("a key without a value, and a value with an equals sign") {
  using namespace std::string_view_literals;
  const auto event = parse_uevent("add@/devices/x\0ERROR\0MODALIAS=pci:v=1\0"sv);
  REQUIRE(event);
  CHECK_FALSE(event->value("ERROR"));
  CHECK(event->value("MODALIAS") == "pci:v=1");
}

TEST_SUITE_END();
