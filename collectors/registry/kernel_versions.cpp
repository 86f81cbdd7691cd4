// SPDX-License-Identifier: Apache-2.0
#include "registry/kernel_versions.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>

namespace igpu {
namespace {

constexpr DriverOffer kNotInXe{"the xe driver does not offer it, in any version", ""};
constexpr DriverOffer kRapl{"this kernel offers neither the PMU power nor an energy zone in /sys/class/powercap",
                            "modprobe -a rapl intel_rapl_msr; a virtual machine has neither"};

constexpr DriverOffer kCoretemp{"no driver shows the CPU package's temperature: coretemp is not loaded",
                                "modprobe coretemp; a virtual machine has no such sensor"};
constexpr DriverOffer kNoLink{"no PCI function in front of the GPU shows a link, as in a virtual machine",
                              "read it on the host"};

struct Row {
  std::string_view feature;
  Driver driver;
  std::optional<GpuKind> kind;  // nullopt: either
  DriverOffer offer;
  int os_error = 0;  // 0: any
};

constexpr Driver i915 = Driver::i915, xe = Driver::xe;
constexpr GpuKind integrated = GpuKind::integrated, discrete = GpuKind::discrete;

// The first matching row applies.
constexpr Row kRows[] = {
    {"engine_busy",
     i915,
     {},
     {"this kernel's i915 driver has no PMU, or not the events of the engines", "Linux 4.16 or newer"}},
    {"engine_busy",
     xe,
     {},
     {"the xe PMU does not list engine-active-ticks and engine-total-ticks: the GPU's firmware (GuC) is too old for "
      "them",
      "install current GuC firmware (package firmware-intel-graphics or linux-firmware) and reboot"},
     EOPNOTSUPP},
    {"engine_busy",
     xe,
     {},
     {"this kernel's xe driver has no PMU",
      "Linux 6.17 or newer (the PMU came with 6.15 to 6.17); until then engine time comes from fdinfo"}},
    {"engine_wait_sema",
     i915,
     {},
     {"this kernel's i915 driver has no PMU, or not the events wait and sema", "Linux 4.16 or newer"}},
    {"engine_wait_sema", xe, {}, kNotInXe},
    {"interrupts",
     i915,
     {},
     {"this kernel's i915 driver has no PMU, or not the event interrupts", "Linux 4.16 or newer"}},
    {"interrupts", xe, {}, kNotInXe},

    {"frequency",
     i915,
     {},
     {"this kernel's i915 driver has no frequency files for this GPU",
      "Linux 5.19 or newer, on GPUs of Gen6 and newer"}},
    {"frequency", xe, {}, {"this kernel's xe driver has no freq0 folder for this GPU's GTs", "Linux 6.8 or newer"}},
    {"frequency_average",
     i915,
     {},
     {"this kernel's i915 driver has no PMU, or not the events actual-frequency and requested-frequency",
      "Linux 4.16 or newer"}},
    {"frequency_average", xe, {}, kNotInXe},
    {"throttle_reasons",
     i915,
     {},
     {"this kernel's i915 driver shows no throttle reasons", "Linux 5.19 or newer, on GPUs of Gen11 and newer"}},
    {"throttle_reasons", xe, {}, {"this kernel's xe driver shows no throttle reasons", "Linux 6.8 or newer"}},

    {"rc6",
     i915,
     {},
     {"this kernel's i915 driver has neither the event rc6-residency nor the file rc6_residency_ms",
      "Linux 4.16 or newer"}},
    {"rc6", xe, {}, {"this kernel's xe driver has no gtidle folder for this GPU's GTs", "Linux 6.8 or newer"}},
    {"awake_time",
     i915,
     {},
     {"this kernel's i915 driver has no PMU, or not the event software-gt-awake-time", "Linux 5.15 or newer"}},
    {"awake_time", xe, {}, kNotInXe},

    {"power", i915, integrated, kRapl},
    {"power", xe, integrated, kRapl},
    {"power",
     i915,
     discrete,
     {"this kernel's i915 driver has no energy counter of the card in hwmon", "Linux 6.2 or newer, with CONFIG_HWMON"}},
    {"power",
     xe,
     discrete,
     {"this kernel's xe driver has no energy counter of the card in hwmon", "Linux 6.8 or newer, with CONFIG_HWMON"}},

    {"temperature", i915, integrated, kCoretemp},
    {"temperature", xe, integrated, kCoretemp},
    {"temperature",
     i915,
     discrete,
     {"this kernel's i915 driver has no temperature of the card in hwmon",
      "Linux 6.14 or newer, with CONFIG_HWMON (it came with 6.12 to 6.14)"}},
    {"temperature",
     xe,
     discrete,
     {"this kernel's xe driver has no temperature of the card in hwmon",
      "Linux 6.17 or newer, with CONFIG_HWMON (it came with 6.15 to 6.17)"}},
    {"fan",
     i915,
     discrete,
     {"this kernel's i915 driver has no fans of the card in hwmon",
      "Linux 6.12 or newer, with CONFIG_HWMON, if the card has a fan"}},
    {"fan",
     xe,
     discrete,
     {"this kernel's xe driver has no fans of the card in hwmon",
      "Linux 6.17 or newer, with CONFIG_HWMON (it came with 6.15 to 6.17), if the card has a fan"}},
    {"voltage", i915, discrete, {"this kernel's i915 driver has no hwmon", "Linux 6.2 or newer, with CONFIG_HWMON"}},
    {"voltage", xe, discrete, {"this kernel's xe driver has no hwmon", "Linux 6.8 or newer, with CONFIG_HWMON"}},
    {"power_limits",
     i915,
     discrete,
     {"this kernel's i915 driver has no hwmon", "Linux 6.2 or newer, with CONFIG_HWMON"}},
    {"power_limits", xe, discrete, {"this kernel's xe driver has no hwmon", "Linux 6.8 or newer, with CONFIG_HWMON"}},

    {"memory_size",
     i915,
     {},
     {"this kernel's i915 driver has no query of memory regions, or no render node", "Linux 5.15 or newer"}},
    {"memory_size",
     xe,
     {},
     {"this kernel's xe driver has no query of memory regions, or no render node", "Linux 6.8 or newer"}},
    {"memory_used",
     i915,
     integrated,
     {"the i915 driver keeps no account of system memory, in any version; intel_gpu_process_memory_bytes shows what "
      "processes hold",
      ""}},
    {"memory_used",
     i915,
     discrete,
     {"this kernel's i915 driver does not say how much device memory is in use", "Linux 6.1 or newer"}},
    {"memory_used", xe, {}, {"this kernel's xe driver does not say how much memory is in use", "Linux 6.17 or newer"}},

    {"process_engine_time",
     i915,
     {},
     {"this kernel's i915 driver leaves engine time out of fdinfo for this GPU",
      "Linux 5.19 or newer; for GPUs with GuC submission (Alder Lake-P, Arc and newer) 6.5; Gen7 and older have none"}},
    {"process_engine_time",
     xe,
     {},
     {"this kernel's xe driver leaves engine time out of fdinfo", "Linux 6.11 or newer"}},
    {"process_memory", i915, {}, {"this kernel's i915 driver leaves memory out of fdinfo", "Linux 6.8 or newer"}},
    {"process_memory", xe, {}, {"this kernel's xe driver leaves memory out of fdinfo", "Linux 6.8 or newer"}},

    {"pcie_link", i915, discrete, kNoLink},
    {"pcie_link", xe, discrete, kNoLink},
    {"error_state",
     i915,
     {},
     {"this kernel's i915 driver captures no hangs", "a kernel with CONFIG_DRM_I915_CAPTURE_ERROR"}},
};

}  // namespace

const DriverOffer* driver_offer(std::string_view feature, const Absent& absent, const Gpu& gpu) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& it) {
    return it.feature == feature && it.driver == gpu.driver && (!it.kind || *it.kind == gpu.kind) &&
           (it.os_error == 0 || it.os_error == absent.os_error);
  });
  return row == std::end(kRows) ? nullptr : &row->offer;
}

}  // namespace igpu
