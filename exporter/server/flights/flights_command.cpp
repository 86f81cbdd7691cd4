// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/options.h"
#include "cli/output.h"
#include "platform/regular_file.h"
#include "server/flights/flight_files.h"
#include "text/text.h"
#include "trace/trace_file.h"
#include "view/client/http_fetcher.h"

namespace igpu::exporter {
namespace {

constexpr std::string_view kPage = "/api/v1/flights";
constexpr std::size_t kLargestFlight = std::size_t{1} << 30;

// The page of the flights beside the page of the metrics.
ScrapeTarget flights_of(const std::string& text) {
  try {
    ScrapeTarget target = parse_target(text);
    constexpr std::string_view kMetrics = "/metrics";
    if (target.url.ends_with(kMetrics)) target.url.resize(target.url.size() - kMetrics.size());
    while (target.url.ends_with('/')) target.url.pop_back();
    target.url += kPage;
    return target;
  } catch (const std::invalid_argument& error) {
    throw UsageError(std::string("flights: ") + error.what());
  }
}

// The exporter that serves here with the same flags.
std::string exporter_address(const Options& options) {
  const ListenAddress& address = options.listen_addresses.front();
  using Kind = ListenAddress::Kind;
  if (address.kind == Kind::unix_socket || address.port == 0)
    throw UsageError("flights: name the exporter: HOST:PORT, a URL or the folder of --flight.directory");
  return address.is_every() ? "localhost:" + std::to_string(address.port) : address.text;
}

std::string fetched(const ScrapeTarget& target, const ClientOptions& client) {
  HttpFetcher fetcher({target}, client);
  std::optional<Fetched> answer;
  fetcher.start(0);
  while (!answer) {
    fetcher.run(std::chrono::steady_clock::now() + std::chrono::seconds(1),
                [&answer](std::size_t, Fetched page) { answer = std::move(page); });
  }
  if (answer->problem.empty()) return std::move(answer->body);
  std::string problem = clean_text(target.name) + ": " + answer->problem;
  if (answer->problem.find("HTTP 404") != std::string::npos)
    problem += "; no such flight, or no flight recorder: it needs --sample.interval";
  throw std::runtime_error(problem);
}

int print_remote(const Options& options, const std::string& place) {
  const FlightsOptions& wanted = options.flights;
  ScrapeTarget target = flights_of(place);
  const ClientOptions client = checked_client_options(options.top.client);
  if (!wanted.number) {
    const std::string list = fetched(target, client);
    if (options.json) return print(list);
    const auto flights = parse_flight_list(list);
    if (!flights) throw std::runtime_error(clean_text(target.name) + ": the answer is no list of flights");
    return print(flight_table(*flights));
  }
  target.url += "/" + std::to_string(*wanted.number) + (wanted.trace ? ".pftrace" : ".jsonl");
  const std::string flight = fetched(target, client);
  if (wanted.file.empty()) return print(flight);
  with_path(wanted.file, [&] { NewFile(wanted.file, 0600).finish(flight, NewFile::Existing::stays); });
  return EXIT_SUCCESS;
}

int print_folder(const Options& options, const std::string& path) {
  if (options.flights.number)
    throw UsageError("flights: the files in a folder are the flights: trace report FILE, or ui.perfetto.dev");
  std::vector<FlightFile> files;
  for (const std::string& name : FlightFolder::names(path)) {
    FlightFile file{name, 0, false};
    try {
      const std::string bytes = read_regular_file((std::filesystem::path(path) / name).string(), kLargestFlight);
      file.bytes = bytes.size();
      const auto trace = read_trace(bytes);
      file.whole = trace && trace->whole();
    } catch (const FileError&) {
      // Removed meanwhile, or not readable: listed as what it is.
    }
    files.push_back(std::move(file));
  }
  return print(options.json ? flight_file_json(files) : flight_file_table(files));
}

}  // namespace

int flights(const Options& options) {
  const std::string place = options.operands.empty() ? exporter_address(options) : options.operands.front();
  std::error_code error;
  if (!options.operands.empty() && std::filesystem::is_directory(place, error)) return print_folder(options, place);
  return print_remote(options, place);
}

}  // namespace igpu::exporter
