// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "server/sandbox/privileges.h"

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

TEST_CASE("the capabilities that collectors use are kept, and never CAP_SYS_ADMIN") {
  CHECK(capabilities_to_keep(kAll, {}) == kUseful);
}

TEST_CASE("only granted capabilities are kept") {
  CHECK(capabilities_to_keep(0, {}) == 0);
  CHECK(capabilities_to_keep(set(kPerfmon), {}) == set(kPerfmon));
  CHECK(capabilities_to_keep(set(kSysPtrace) | set(0), {}) == set(kSysPtrace));
  CHECK(capabilities_to_keep(set(kSysAdmin), {}) == 0);
}

TEST_CASE(
    "the process that opens perf events keeps what they need, and CAP_SYS_ADMIN only if they are denied without it") {
  CHECK(capabilities_to_count(kAll, mainline) == set(kPerfmon));
  CHECK(capabilities_to_count(kAll, anybody) == set(kPerfmon));
  CHECK(capabilities_to_count(kAll, debian_at_level_3) == (set(kPerfmon) | set(kSysAdmin)));
  CHECK(capabilities_to_count(set(kSysAdmin), mainline) == set(kSysAdmin));  // a kernel before CAP_PERFMON
  CHECK(capabilities_to_count(kAll, nobody) == set(kPerfmon));               // it would not help
  CHECK(capabilities_to_count(set(kSysPtrace), nobody) == 0);
}

TEST_CASE("a simulated machine needs no capability; files of the web configuration may need one") {
  CapabilityUses uses{.reads_kernel = false, .reads_files = false};
  CHECK(capabilities_to_keep(kAll, uses) == 0);
  uses.reads_files = true;
  CHECK(capabilities_to_keep(kAll, uses) == set(kDacReadSearch));
}

TEST_CASE("kept capabilities are reported; CAP_SYS_ADMIN with a hint to avoid it") {
  LayerOutcome outcome = kept(set(kPerfmon));
  CHECK(outcome.detail == "keeps CAP_PERFMON");
  add_counting(set(kPerfmon), outcome);
  CHECK(outcome.detail == "keeps CAP_PERFMON");
  CHECK(outcome.hint.empty());
  add_counting(set(kPerfmon) | set(kSysAdmin), outcome);
  CHECK(outcome.on);
  CHECK(outcome.detail == "keeps CAP_PERFMON; the process that opens perf events keeps CAP_SYS_ADMIN CAP_PERFMON");
  CHECK(outcome.hint.find("kernel.perf_event_paranoid=2") != std::string::npos);
}

TEST_CASE("every capability has a name, even if libcap does not know it") {
  CHECK(names_of(0) == "none");
  CHECK(names_of(set(kPerfmon) | set(kDacReadSearch)) == "CAP_DAC_READ_SEARCH CAP_PERFMON");
  CHECK(names_of(set(0) | set(40)) == "CAP_CHOWN CAP_CHECKPOINT_RESTORE");
  CHECK(names_of(set(60)) == "capability 60");
}

TEST_CASE("choosing the capabilities to keep changes nothing") {
  const ThreadCapabilities before = own_capabilities();
  const CapabilitySet keep = capabilities_to_keep(CapabilityUses{}) | capabilities_to_count();
  const ThreadCapabilities after = own_capabilities();
  CHECK((keep & ~before.permitted) == 0);
  CHECK(after.effective == before.effective);
  CHECK(after.permitted == before.permitted);
  CHECK(after.inheritable == before.inheritable);
}

TEST_SUITE_END();
