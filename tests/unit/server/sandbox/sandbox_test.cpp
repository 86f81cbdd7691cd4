// SPDX-License-Identifier: Apache-2.0
#include "server/sandbox/sandbox.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "kernel/device/drm_uapi.h"
#include "support/machine_tree.h"
#include "support/recording_log.h"

using namespace igpu::exporter;
using namespace igpu::test;
using igpu::LogLevel;

TEST_SUITE_BEGIN("sandbox");

TEST_CASE("a sandbox that is turned off does nothing and reports it") {
  Sandbox sandbox({.on = false});
  sandbox.protect_memory();
  sandbox.drop_privileges();
  sandbox.confine_clients();
  sandbox.filter_system_calls();
  for (const Layer layer : kLayers) {
    CHECK_FALSE(sandbox.outcome(layer).on);
    CHECK(sandbox.outcome(layer).detail == "turned off by --no-sandbox");
  }
  RecordingLog log;
  sandbox.report(log);
  REQUIRE(log.lines().size() == 1);
  CHECK(log.lines()[0].level == LogLevel::warn);
  CHECK(log.lines()[0].text == "the sandbox is off hint=start without --no-sandbox");
}

TEST_CASE("a trial does not change this process") {
  const ThreadCapabilities before = own_capabilities();
  const SandboxOutcomes outcomes = try_sandbox({});
  CHECK(outcomes[static_cast<std::size_t>(Layer::no_new_privs)].on);
  CHECK(outcomes[static_cast<std::size_t>(Layer::capabilities)].detail.starts_with("keeps "));
  CHECK(own_capabilities().permitted == before.permitted);
  for (const LayerOutcome& outcome : outcomes) {
    CAPTURE(outcome.detail);
    CHECK(outcome.detail != "the trial process ended early");
    if (!outcome.on) CHECK_FALSE(outcome.detail.empty());
  }
}

TEST_CASE("the filter allows the queries of render nodes") {
  CHECK(kI915Query == igpu::drm::kIoctlI915Query);
  CHECK(kI915Getparam == igpu::drm::kIoctlI915Getparam);
  CHECK(kXeDeviceQuery == igpu::drm::kIoctlXeDeviceQuery);
  CHECK(kI915Throttle == igpu::drm::kIoctlI915Throttle);
}

TEST_CASE("the folders of a file: of its path and of the target of its links") {
  MachineTree tree;
  tree.write("archive/key1.pem", "x");
  tree.make_directory("live");
  std::filesystem::create_symlink(tree.path("archive/key1.pem"), tree.path("live/key.pem"));
  CHECK(folders_of(tree.path("archive/key1.pem")) == std::vector{tree.path("archive")});
  CHECK(folders_of(tree.path("live/key.pem")) == std::vector{tree.path("live"), tree.path("archive")});
  CHECK(folders_of(tree.path("live/missing")) == std::vector{tree.path("live")});
  CHECK(folders_of("").empty());
}

TEST_SUITE_END();
