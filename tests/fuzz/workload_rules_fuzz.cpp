// SPDX-License-Identifier: Apache-2.0
//
// --workload.rules with any content: rules that can be used, or one clear line. Then the text as a pattern.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "fuzz/fuzz_target.h"
#include "kernel/clients/workload_naming.h"
#include "view/workloads/rules_file.h"

using namespace igpu;

FUZZ_TARGET(workload_rules) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string ancestors[] = {"sh", "packager-news"};
  const RuleSubject subject{"ffmpeg", "/usr/bin/ffmpeg", "/system.slice/x.service", "video", ancestors};
  try {
    for (const WorkloadRule& rule : exporter::parse_workload_rules(text, "rules.yml")) {
      FUZZ_CHECK(error_in(rule).empty());
      (void)name_by(rule, subject);
    }
  } catch (const std::runtime_error& error) {
    const std::string_view message = error.what();
    FUZZ_CHECK(message.starts_with("rules.yml:"));
    FUZZ_CHECK(message.size() < 2000);
    FUZZ_CHECK(std::none_of(message.begin(), message.end(),
                            [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }));
  }
  if (size > 4096) return 0;
  const std::string_view pattern = text.substr(0, size / 2);
  if (const auto parts = match_pattern(pattern, text.substr(size / 2))) {
    std::size_t covered = 0;
    for (const std::string_view part : *parts) covered += part.size();
    FUZZ_CHECK(covered <= size - size / 2);
  }
  return 0;
}
