// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace igpu::exporter {

// What the page at "/" loads: files of pages/assets, which are part of the program. Thread-safe.
class Assets {
 public:
  // False: there is no file at that path ("/assets/page.js").
  bool answer(const HttpRequest& request, HttpResponse& response);
  static bool has(std::string_view path);

 private:
  std::once_flag once_;
  std::vector<std::shared_ptr<const std::string>> compressed_;  // since the first request that accepts it
};

}  // namespace igpu::exporter
