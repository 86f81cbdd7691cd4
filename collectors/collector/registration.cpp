// SPDX-License-Identifier: Apache-2.0
#include "collector/collector.h"
#include "collector/connectors.h"
#include "collector/engines.h"
#include "collector/fdinfo.h"
#include "collector/frequency.h"
#include "collector/health.h"
#include "collector/host.h"
#include "collector/hwmon.h"
#include "collector/identity.h"
#include "collector/imc.h"
#include "collector/jobs.h"
#include "collector/jobs_video.h"
#include "collector/level_zero.h"
#include "collector/memory.h"
#include "collector/npu.h"
#include "collector/pcie.h"
#include "collector/power.h"
#include "collector/rc6.h"
#include "collector/samples.h"
#include "collector/sriov.h"
#include "collector/workloads.h"

namespace igpu {
namespace {

// In the order they run. To add a collector: one line here, its file pair, its test.
// clang-format off
constexpr CollectorEntry kCollectors[] = {
    entry<IdentityCollector>(),
    entry<EnginesCollector>(),
    entry<FrequencyCollector>(),
    entry<Rc6Collector>(),
    entry<PowerCollector>(),
    entry<HwmonCollector>(),
    entry<MemoryCollector>(),
    entry<PcieCollector>(),
    entry<ImcCollector>(),
    entry<JobsCollector, VideoJobs>(),
    entry<FdinfoCollector>(),
    entry<HealthCollector>(),
    entry<SriovCollector>(),
    entry<NpuCollector>(),
    entry<ConnectorsCollector>(),
    entry<WorkloadsCollector>(),
    entry<HostCollector>(),
    entry<LevelZeroCollector>(),
    entry<SamplesCollector>(),
};
// clang-format on

}  // namespace

std::span<const CollectorEntry> all_collectors() { return kCollectors; }

}  // namespace igpu
