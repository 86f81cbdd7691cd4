// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "igpu/monitor.h"
#include "run/registry.h"

using namespace igpu;

namespace {

bool enabled(std::string_view name, const MonitorOptions& options) {
  for (const ConfiguredCollector& collector : configure(all_collectors(), options))
    if (collector.entry.info->name == name) return collector.enabled;
  FAIL("no such collector");
  return false;
}

}  // namespace

TEST_SUITE_BEGIN("configuration");

TEST_CASE("a collector runs by its default unless it is chosen or all defaults are off") {
  CHECK(enabled("rc6", {}));
  CHECK_FALSE(enabled("rc6", {.collectors = {{"rc6", false}}}));
  CHECK_FALSE(enabled("rc6", {.disable_default_collectors = true}));
  CHECK(enabled("rc6", {.disable_default_collectors = true, .collectors = {{"rc6", true}}}));
  CHECK(enabled("identity", {.disable_default_collectors = true}));
}

TEST_CASE("an option that needs a collector turns it on, unless it was turned off") {
  const MonitorOptions tree{.collector_options = {{"workload.tree", {"1"}}}};
  CHECK_FALSE(enabled("workloads", {}));
  CHECK(enabled("workloads", tree));
  CHECK(enabled("workloads", {.collector_options = {{"workload.rules", {"rules.yml"}}}}));
  CHECK_FALSE(enabled("workloads", {.collector_options = {{"workload.max", {"1"}}}}));
  MonitorOptions off = tree;
  off.collectors = {{"workloads", false}};
  CHECK_FALSE(enabled("workloads", off));
}

TEST_CASE("what is described as running is what runs") {
  const MonitorOptions options{.disable_default_collectors = true, .collectors = {{"fdinfo", true}}};
  for (const CollectorDescription& collector : describe_collectors(options)) CHECK(enabled(collector.name, options));
  CHECK(describe_collectors(options).size() == 2);
}

TEST_CASE("what does not exist is an error that names it") {
  CHECK_THROWS_WITH_AS(configure(all_collectors(), {.collectors = {{"nope", true}}}),
                       "--collector.nope: there is no such collector", OptionError);
  CHECK_THROWS_WITH_AS(configure(all_collectors(), {.collectors = {{"identity", false}}}),
                       "--no-collector.identity: there is no such collector", OptionError);
  CHECK_THROWS_WITH_AS(configure(all_collectors(), {.collector_options = {{"collector.rc6.depth", {"1"}}}}),
                       "--collector.rc6.depth: there is no such option", OptionError);
}

TEST_CASE("an option that several collectors share reaches each of them") {
  const MonitorOptions options{.collector_options = {{"collector.engines.sampled-events", {"off"}}}};
  std::size_t seen = 0;
  for (const ConfiguredCollector& collector : configure(all_collectors(), options)) {
    for (const OptionDescriptor* option : collector.entry.info->options) {
      if (option->flag() != "collector.engines.sampled-events") continue;
      ++seen;
      CHECK_FALSE(collector.options[*static_cast<const ChoiceOption<bool>*>(option)]);
    }
  }
  CHECK(seen == 2);
}

TEST_SUITE_END();
