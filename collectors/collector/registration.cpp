// SPDX-License-Identifier: Apache-2.0
#include "collector/collector.h"
#include "collector/device/connectors.h"
#include "collector/device/host.h"
#include "collector/device/identity.h"
#include "collector/engines/engines.h"
#include "collector/engines/frequency.h"
#include "collector/engines/rc6.h"
#include "collector/health/health.h"
#include "collector/health/pcie.h"
#include "collector/jobs/jobs.h"
#include "collector/jobs/jobs_video.h"
#include "collector/level_zero/level_zero.h"
#include "collector/memory/imc.h"
#include "collector/memory/memory.h"
#include "collector/npu/npu.h"
#include "collector/power/hwmon.h"
#include "collector/power/power.h"
#include "collector/processes/fdinfo.h"
#include "collector/samples/samples.h"
#include "collector/sriov/sriov.h"
#include "collector/workloads/workloads.h"

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
