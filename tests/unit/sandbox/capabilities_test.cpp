// SPDX-License-Identifier: Apache-2.0
#include "sandbox/capabilities.h"

#include <doctest/doctest.h>

using namespace igpu::exporter;
using namespace igpu::exporter::capability;

namespace {

constexpr CapabilitySet kAll = (CapabilitySet{1} << 41) - 1;
constexpr CapabilitySet kUseful = set(kPerfmon) | set(kSysPtrace) | set(kDacReadSearch);

// Whether the kernel allows perf events, by its version and settings.
bool mainline(CapabilitySet effective) { return (effective & (set(kPerfmon) | set(kSysAdmin))) != 0; }
bool debian_at_level_3(CapabilitySet effective) { return (effective & set(kSysAdmin)) != 0; }
bool anybody(CapabilitySet) { return true; }
bool nobody(CapabilitySet) { return false; }

}  // namespace

TEST_SUITE_BEGIN("capabilities");

TEST_CASE("the capabilities that collectors use are kept") {
  CHECK(capabilities_to_keep(kAll, {}, mainline) == kUseful);
  CHECK(capabilities_to_keep(kAll, {}, anybody) == kUseful);
}

TEST_CASE("only granted capabilities are kept") {
  CHECK(capabilities_to_keep(0, {}, nobody) == 0);
  CHECK(capabilities_to_keep(set(kPerfmon), {}, mainline) == set(kPerfmon));
  CHECK(capabilities_to_keep(set(kSysPtrace) | set(0), {}, nobody) == set(kSysPtrace));
}

TEST_CASE("CAP_SYS_ADMIN is kept only if perf events are denied without it") {
  CHECK(capabilities_to_keep(kAll, {}, debian_at_level_3) == (kUseful | set(kSysAdmin)));
  CHECK(capabilities_to_keep(set(kSysAdmin), {}, mainline) == set(kSysAdmin));  // a kernel before CAP_PERFMON
  CHECK(capabilities_to_keep(kAll, {}, nobody) == kUseful);                     // it would not help
}

TEST_CASE("a simulated machine needs no capability; files of the web configuration may need one") {
  CapabilityUses uses{.reads_kernel = false, .reads_files = false};
  CHECK(capabilities_to_keep(kAll, uses, debian_at_level_3) == 0);
  uses.reads_files = true;
  CHECK(capabilities_to_keep(kAll, uses, debian_at_level_3) == set(kDacReadSearch));
}

TEST_CASE("kept capabilities are reported; CAP_SYS_ADMIN with a hint to avoid it") {
  CHECK(kept(set(kPerfmon)).detail == "keeps CAP_PERFMON");
  CHECK(kept(set(kPerfmon)).hint.empty());
  CHECK(kept(set(kPerfmon) | set(kSysAdmin)).on);
  CHECK(kept(set(kPerfmon) | set(kSysAdmin)).hint.find("kernel.perf_event_paranoid=2") != std::string::npos);
}

TEST_CASE("every capability has a name, even if libcap does not know it") {
  CHECK(names_of(0) == "none");
  CHECK(names_of(set(kPerfmon) | set(kDacReadSearch)) == "CAP_DAC_READ_SEARCH CAP_PERFMON");
  CHECK(names_of(set(0) | set(40)) == "CAP_CHOWN CAP_CHECKPOINT_RESTORE");
  CHECK(names_of(set(60)) == "capability 60");
}

TEST_CASE("choosing the capabilities to keep changes nothing") {
  const ThreadCapabilities before = own_capabilities();
  const CapabilitySet keep = capabilities_to_keep(CapabilityUses{});
  const ThreadCapabilities after = own_capabilities();
  CHECK((keep & ~before.permitted) == 0);
  CHECK(after.effective == before.effective);
  CHECK(after.permitted == before.permitted);
  CHECK(after.inheritable == before.inheritable);
}

TEST_SUITE_END();
