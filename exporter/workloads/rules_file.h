// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <ctime>
#include <memory>
#include <string>
#include <string_view>

#include "igpu/log.h"
#include "igpu/workload_rules.h"

// --workload.rules: how processes are grouped (docs/workloads.md).
//
//   rules:
//     - name: "channel {ancestor:1}"
//       match:
//         ancestor: "packager-*"
//     - name: "{comm}"
//       match: {comm: [ffmpeg, "Plex*"]}
namespace igpu::exporter {

// text: the content of the file at path. Throws std::runtime_error with one line: "path:line: what is wrong and what is
// expected".
WorkloadRules parse_workload_rules(std::string_view text, const std::string& path);

// The last valid content of the file. An invalid change is ignored, and logged once with its reason. One thread at a
// time.
class WorkloadRulesFile final : public WorkloadRuleSource {
 public:
  // Reads the file. Throws std::runtime_error with one clear line. log must outlive the object.
  WorkloadRulesFile(std::string path, Log& log);

  // Reads again if the file has changed.
  std::shared_ptr<const WorkloadRules> current() override;

 private:
  struct Stamp {
    int error = 0;  // errno of stat
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec modified{};
    timespec changed{};
    bool operator==(const Stamp& other) const;
  };
  Stamp stamp() const;

  const std::string path_;
  Log& log_;
  Stamp stamp_;
  bool settled_ = true;  // false: written just before it was read, and may change again within the same time stamp
  std::string last_error_;
  std::shared_ptr<const WorkloadRules> rules_;
};

}  // namespace igpu::exporter
