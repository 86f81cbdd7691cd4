// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/message.h"

namespace igpu::exporter {

// Serves the files that the page at "/" loads: those of server/pages/assets, which are compiled into the program.
// Thread-safe.
class Assets {
 public:
  // False: there is no file at that path: "/assets/page.js", or in folder(), whose files browsers keep.
  bool answer(const HttpRequest& request, HttpResponse& response);
  static bool has(std::string_view path);
  static std::string folder();  // "assets/4711/": another one for each version of the files

 private:
  std::once_flag once_;
  std::vector<std::shared_ptr<const std::string>> compressed_;  // filled at the first request that accepts gzip
};

}  // namespace igpu::exporter
