// SPDX-License-Identifier: Apache-2.0
#include "pages/api.h"

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "format/json_lines.h"
#include "format/json_writer.h"
#include "igpu/page.h"
#include "report/fixes.h"
#include "self/build_info.h"

namespace igpu::exporter {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kSnapshot = "/api/v1/snapshot";
constexpr std::string_view kDoctor = "/api/v1/doctor";

void write_snapshot(const ScrapeResult& result, std::string& out) {
  write_json_line(PageView(result.lists()), std::chrono::system_clock::now(), out);
}

}  // namespace

Api::Api(MetricsHandler& metrics, ScrapeSource& source, AllowedOrigins origins, FindGrants find_grants)
    : source_(source),
      origins_(std::move(origins)),
      find_grants_(std::move(find_grants)),
      snapshot_(metrics, kJson, write_snapshot),
      doctor_(metrics, kJson, [this](const ScrapeResult& result, std::string& out) { write_doctor(result, out); }) {}

bool Api::has(std::string_view path) { return path == kSnapshot || path == kDoctor; }

void Api::answer(const HttpRequest& request, HttpResponse& response) {
  (request.path() == kDoctor ? doctor_ : snapshot_).answer(request, response);
  origins_.add_headers(request, response);
}

void Api::write_doctor(const ScrapeResult& result, std::string& out) {
  const std::vector<Gpu> gpus = source_.gpus();
  const std::vector<Finding> findings = most_useful_first(result.findings());
  const DiagnosedMachine machine{gpus, findings, result.failed_collectors(),
                                 find_grants_ ? find_grants_(findings) : PlaceOfGrants()};
  const BuildInfo build = build_info();
  JsonWriter json;
  json.begin_object().member("version", build.version).member("revision", build.revision);
  json.member("complete", machine.missing() == 0 && !gpus.empty());
  json.member("missing", std::uint64_t{machine.missing()}).member("asleep", machine.asleep());
  write_diagnosis(json, machine);
  json.end_object();
  out = json.take() + '\n';
}

}  // namespace igpu::exporter
