// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "http/message.h"
#include "pages/allowed_origins.h"
#include "pages/metrics_handler.h"
#include "pages/paced_page.h"
#include "pages/scrape_source.h"
#include "report/diagnosis_json.h"

namespace igpu::exporter {

// JSON for programs, and for the script of the page at "/" (docs/api.md):
//   /api/v1/snapshot   what `stats --format json` prints
//   /api/v1/doctor     what of the machine cannot be read, why, and what would change that
class Api {
 public:
  // All must outlive the API.
  Api(MetricsHandler& metrics, ScrapeSource& source, AllowedOrigins origins, FindGrants find_grants);

  static bool has(std::string_view path);
  void answer(const HttpRequest& request, HttpResponse& response);  // of a path that it has

 private:
  void write_doctor(const ScrapeResult& result, std::string& out);

  ScrapeSource& source_;
  const AllowedOrigins origins_;
  const FindGrants find_grants_;
  PacedPage snapshot_, doctor_;
};

}  // namespace igpu::exporter
