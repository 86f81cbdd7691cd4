// SPDX-License-Identifier: Apache-2.0
#include "monitor/early_access.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "collector/shared/client_finder.h"
#include "source/drm_descriptor.h"

namespace igpu {

std::shared_ptr<EarlyAccess> open_early(const MonitorOptions& options) {
  using Users = Reading<std::unique_ptr<DeviceUsers>>;
  const auto none = [](Absent why) { return std::make_shared<EarlyAccess>(Users(why)); };
  const std::vector<CollectorDescription> collectors = describe_collectors(options);
  const bool wanted = options.simulate.empty() &&
                      std::any_of(collectors.begin(), collectors.end(),
                                  [](const CollectorDescription& collector) { return collector.reads_processes; });
  static constexpr std::array<const OptionDescriptor*, 1> kOptions{&kFinder};
  const FinderChoice choice = OptionValues(kOptions, options.collector_options)[kFinder];
  if (!wanted || choice == FinderChoice::walk) return none({Reason::disabled, ENOSYS});

  Users users = open_device_users(kDrmMajor);
  if (!users && choice == FinderChoice::bpf) {
    const std::string flag(kFinder.flag());
    if (!built_with_bpf()) throw OptionError(flag, "bpf: this program was built without BPF; use auto or walk");
    if (users.is_absent() && users.absent().reason == Reason::permission)
      throw OptionError(flag, "bpf: the kernel denies BPF programs: give it CAP_BPF and CAP_PERFMON, or use auto");
    throw OptionError(flag,
                      "bpf: this kernel does not run the programs: use auto, or Linux 6.1 or newer with "
                      "CONFIG_DEBUG_INFO_BTF, and the host's PID namespace");
  }
  return std::make_shared<EarlyAccess>(std::move(users));
}

}  // namespace igpu
