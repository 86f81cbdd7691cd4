// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/device.h"
#include "igpu/feature.h"
#include "igpu/page.h"
#include "server/http/message.h"
#include "view/report/fixes.h"

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

// The page at "/": first problems that an operator can fix, then the current values of each GPU, then missing features.
// page and findings are from the same scrape. It is complete without scripts; server/pages/assets/page.js replaces its
// tables with live ones. machine: its name, for the title; "" if it is not known.
std::string index_page(std::string_view telemetry_path, std::span<const Gpu> gpus, std::span<const Finding> findings,
                       const PageView& page, Seconds now, const PlaceOfGrants& place = {},
                       std::string_view machine = {});

}  // namespace igpu::exporter
