// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "fake/simulation/renderers.h"

// drivers/pci/iov.c, drivers/vfio/vfio_main.c, drivers/gpu/drm/xe: xe_sriov_pf_sysfs.c, xe_gt_sriov_pf_monitor.c
namespace igpu::simulation {

namespace {

// All functions that could be enabled have a folder; those that are, a link as well.
void render_profiles(Tree& sys, const GpuScript& gpu) {
  const std::string admin = gpu.pci_path() + "/sriov_admin/";
  const auto profile = [&](const std::string& function, std::uint64_t vram_quota) {
    const std::string path = admin + function + "/profile/";
    sys.file(path + "exec_quantum_ms", std::to_string(kFunctionMilliseconds) + "\n", 0644);
    sys.file(path + "preempt_timeout_us", std::to_string(kFunctionMilliseconds * 1000) + "\n", 0644);
    if (function != "pf") sys.file(path + "vram_quota", std::to_string(vram_quota) + "\n", 0644);
  };
  profile("pf", 0);
  for (unsigned number = 1; number <= gpu.total_functions; ++number) {
    const bool enabled = number <= gpu.functions.size();
    profile("vf" + std::to_string(number), enabled ? gpu.functions[number - 1].vram_quota : 0);
  }
  for (const FunctionScript& function : gpu.functions)
    sys.link(admin + "vf" + std::to_string(function.number) + "/device", "../../../" + gpu.address_of(function));
}

void render_adverse_events(Tree& sys, const GpuScript& gpu) {
  sys.directory("kernel/debug").permissions = 0700;
  for (unsigned gt = 0; gt < gpu.gts.size(); ++gt) {
    const std::string path =
        "kernel/debug/dri/" + gpu.address + "/sriov/pf/tile0/gt" + std::to_string(gt) + "/adverse_events";
    sys.file(path, [&gpu, gt](Text& out, ScriptTime now) {
      for (const FunctionScript& function : gpu.functions) {
        const std::uint64_t resets = gt == 0 ? function.resets(now) : 0;
        if (resets == 0) continue;
        out << "VF" << function.number << ":\tcat_error_count:0 engine_reset_count:" << resets
            << " page_fault_count:0 guc_time_us:0 irq_time_us:0 doorbell_time_us:0\n";
      }
    });
  }
}

}  // namespace

void render_functions(Tree& sys, const GpuScript& gpu) {
  const GpuModel& model = gpu.model;
  const std::string path = gpu.pci_path();
  sys.file(path + "/sriov_totalvfs", std::to_string(gpu.total_functions) + "\n");
  sys.file(path + "/sriov_numvfs", std::to_string(gpu.functions.size()) + "\n", 0644);
  sys.file(path + "/sriov_drivers_autoprobe", "0\n", 0644);
  for (const FunctionScript& function : gpu.functions) {
    const std::string below = gpu.path_of(function);
    render_pci_function(sys, below,
                        {0x8086, model.device_id, 0x030000, model.revision, model.subsystem_vendor,
                         model.subsystem_device, function.driver, gpu.numa_node});
    sys.link(below + "/physfn", "../" + gpu.address);
    sys.link(path + "/virtfn" + std::to_string(function.number - 1), "../" + gpu.address_of(function));
    const std::string group = "kernel/iommu_groups/" + std::to_string(gpu.group_of(function));
    sys.link(below + "/iommu_group", up_from(below) + "/" + group);
    sys.link(group + "/devices/" + gpu.address_of(function), "../../../../" + below);
    if (!function.driver.empty()) sys.directory(below + "/vfio-dev/vfio" + std::to_string(function.number - 1));
  }
  render_profiles(sys, gpu);
  render_adverse_events(sys, gpu);
}

}  // namespace igpu::simulation
