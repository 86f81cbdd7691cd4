// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/clients/clients.h"
#include "kernel/clients/drm_descriptor.h"
#include "kernel/clients/process.h"
#include "kernel/sriov/sriov_files.h"
#include "machine/machine.h"

// Finds the process that has a PCI function bound to a VFIO driver open: the machine monitor of a virtual machine. From
// Linux 6.18 on the fdinfo of the device's file names it (vfio-device-syspath, drivers/vfio/vfio_main.c; needs
// CAP_SYS_PTRACE). On older kernels the process has open the file of the function's group (/dev/vfio/17) or of the
// device itself (/dev/vfio/devices/vfio3), which the links in /proc/<pid>/fd show (CAP_DAC_READ_SEARCH as well). In a
// mount namespace of its own a process can give that name to any file, so the file must be the device that sysfs has
// under that name.
namespace igpu {

// The PCI address of the device that the text of an fdinfo file names; "" if it names none.
std::string_view vfio_device_of(std::string_view fdinfo);

// Remembers the holders. A scrape checks that each of them still holds its function: by one read of an open file, or by
// a link and its target. In the latter case another read verifies from time to time that the process is the same. All
// processes are scanned only while a function has no holder: at once, and then every kSearchAgain, in steps of at most
// kLongestScan.
class VfioHolders {
 public:
  static constexpr Nanoseconds kSearchAgain = std::chrono::seconds(30);
  static constexpr Nanoseconds kLongestScan = std::chrono::milliseconds(50);
  // Files of one process that are examined: more than a machine monitor has, few enough for one scrape.
  static constexpr std::size_t kMostFiles = 8192;

  explicit VfioHolders(Machine& machine) : machine_(machine), users_(machine.names) {}

  // A process that holds a function. Another one, or the same that was found again, has another serial number.
  struct Holder {
    ClientProcess process;
    std::uint64_t serial = 0;
  };

  // Call order in a scrape: check(), follow().
  // Forgets the holders that no longer hold their functions.
  void check(Nanoseconds now);
  // Whether a process holds the device's own file. The kernel then does not unbind its driver
  // (vfio_unregister_group_dev() waits for the file).
  bool is_in_use(std::string_view address) const;
  // functions: of all GPUs, those bound to a VFIO driver.
  void follow(std::span<const VfDevice* const> functions, Nanoseconds now);
  // Null: no holder is known. Valid until the next check().
  const Holder* holder_of(std::string_view address) const;
  // Why a holder may be hidden. Absent EPERM: only the links in /proc/<pid>/fd would show it, and access is denied.
  const std::optional<Absent>& why_hidden() const { return hidden_; }

 private:
  struct DeviceFile {
    std::string path;  // "/dev/vfio/17"; "" if the kernel shows none
    std::optional<DeviceNumber> number;
  };
  // A function, the files that belong to it, and its holder.
  struct Function {
    DeviceFile group, device;
    std::optional<Holder> holder;
    // How it was found: by the fdinfo of the device's file, which is kept open and stays that of the same process; or
    // by the link of the file (null).
    std::unique_ptr<File> fdinfo;
    std::uint32_t fd = 0;
    Nanoseconds checked{};  // when the process was last verified to be the same
    bool is_new = true;     // since the last follow(), or its holder is gone
  };
  void describe(const VfDevice& function, Function& known) const;
  bool is_file_of(const Function& function, std::string_view link, std::uint32_t pid, std::uint32_t fd) const;
  bool still_holds(std::string_view address, Function& function, Nanoseconds now) const;
  void search(Nanoseconds now);
  void scan_process(std::uint32_t pid, Nanoseconds now);
  void begin_search(std::span<const VfDevice* const> functions, Nanoseconds now);
  Function* held_by(std::uint32_t pid, std::uint32_t fd);

  Machine& machine_;
  UserNames users_;
  std::map<std::string, Function, std::less<>> functions_;  // by address
  std::uint64_t serial_ = 0;                                // of the last holder that was found
  bool live_ = false;                    // /proc is this machine's own, not a captured tree: links lead to open files
  std::optional<Nanoseconds> searched_;  // when the last search began
  std::vector<std::uint32_t> to_scan_;   // the rest of the current search, in reverse order
  bool denied_ = false;                  // this search was denied access to the files of a process
  bool links_denied_ = false;            // this search was denied the target of a link
  std::optional<Absent> hidden_;
};

}  // namespace igpu
