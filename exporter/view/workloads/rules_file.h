// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "igpu/log.h"
#include "igpu/options.h"
#include "igpu/workload_rules.h"
#include "platform/regular_file.h"

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

// The last valid content of the file. An invalid change is ignored and logged once. One thread at a
// time.
class WorkloadRulesFile final : public WorkloadRuleSource {
 public:
  // Reads the file. Throws FlagFileError. log must outlive the object.
  WorkloadRulesFile(std::string path, Log& log);

  // Reads again if the file has changed.
  std::shared_ptr<const WorkloadRules> current() override;

 private:
  WorkloadRules load();

  const std::string path_;
  ReloadLog reload_log_;
  FileStamps stamps_;  // of the last attempt
  std::shared_ptr<const WorkloadRules> rules_;
};

// The file of --workload.rules; "" for none.
std::string workload_rules_file(const MonitorOptions& options);
// The options with the rules of that file. Throws FlagFileError. log must outlive the monitor that is made with them.
MonitorOptions with_workload_rules(MonitorOptions options, Log& log);

}  // namespace igpu::exporter
