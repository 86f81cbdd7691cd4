// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "platform/own_process.h"
#include "server/push/address.h"
#include "server/push/curl_session.h"
#include "server/push/mqtt_target.h"
#include "server/push/otlp.h"
#include "server/serve_stages.h"

namespace igpu::exporter {
namespace {

// The function that makes the client runs in the process that talks to the receiver, which alone reads credentials.
using MakeClient = std::function<std::unique_ptr<PushClient>(PushCredentials, std::unique_ptr<CurlSession>)>;

std::optional<Resolver> start_resolver(const Sandbox& sandbox, const PushEndpoint& endpoint) {
  if (is_address(endpoint.host)) return std::nullopt;
  FileAccess files = sandbox.plan().resolver_files;
  files.connect_ports = {53};  // DNS over TCP, for long answers
  const bool asks_avahi = endpoint.host.ends_with(".local");
  UniqueFd socket = sandbox.start({.name = "push-resolver",
                                   .as_nobody = true,
                                   .files = std::move(files),
                                   .prepare = [&endpoint](int) { prepare_to_resolve(endpoint); },
                                   .filter = [asks_avahi](int) { return filter_calls_of_resolver(asks_avahi); },
                                   .serve = [&endpoint](int of) { serve_addresses(of, endpoint); }});
  return Resolver(std::move(socket), endpoint.host);
}

UniqueFd start_client(const Sandbox& sandbox, PushRoute route, const std::string& credentials_file,
                      const std::string& cacert, const MakeClient& make) {
  FileAccess files = sandbox.plan().push_files;
  files.connect_ports = {route.endpoint.port};
  std::unique_ptr<PushClient> client;
  const auto begin = [&](int socket) {
    try {
      // The resolver begins with a copy of this process' memory: credentials, a proxy's too, are read after it has
      // started.
      std::optional<Resolver> resolver = start_resolver(sandbox, route.endpoint);
      route.proxy = route.proxy_with_user();
      PushCredentials credentials = credentials_file.empty() ? PushCredentials() : read_credentials(credentials_file);
      std::string authorities = cacert.empty() ? "" : read_authorities(cacert);
      client = make(std::move(credentials),
                    std::make_unique<CurlSession>(route, std::move(authorities), std::move(resolver)));
    } catch (const std::exception& error) {
      report_no_start(socket, error.what());
      throw;
    }
  };
  return sandbox.start({.name = "push-client",
                        .as_nobody = true,
                        .files = std::move(files),
                        .begin = begin,
                        .filter = [](int) { return filter_calls_of_push_client(); },
                        .serve = [&](int socket) { serve_push(socket, *client); }});
}

}  // namespace

std::vector<PushReceiver> start_push(const PushOptions& options, const Sandbox& sandbox,
                                     const Environment& environment) {
  std::vector<PushReceiver> receivers;
  if (options.otlp) {
    const auto make = [](PushCredentials credentials, std::unique_ptr<CurlSession> session) {
      return std::make_unique<OtlpClient>(std::move(session), std::move(credentials));
    };
    UniqueFd socket =
        start_client(sandbox, route_to(*options.otlp, environment), options.otlp_credentials, options.cacert, make);
    receivers.push_back({std::make_unique<OtlpReadings>(own_resource()), std::move(socket)});
  }
  if (options.mqtt) {
    PushRoute route = route_to(*options.mqtt, environment);
    const MqttSettings settings{.host = own_host_name(),
                                .topic_base = mqtt_topic_base(route.address.path),
                                .interval = std::chrono::ceil<std::chrono::seconds>(options.interval),
                                .page_url = options.mqtt_page_url};
    route.address.path.clear();
    const auto make = [&](const PushCredentials& credentials, std::unique_ptr<CurlSession> session) {
      return std::make_unique<MqttClient>(settings, mqtt_user(credentials, options.mqtt_credentials),
                                          connect_by_curl(std::move(session)));
    };
    UniqueFd socket = start_client(sandbox, route, options.mqtt_credentials, options.cacert, make);
    receivers.push_back({std::make_unique<MqttReadings>(settings), std::move(socket)});
  }
  return receivers;
}

PushTargets wait_until_started(std::vector<PushReceiver> receivers) {
  PushTargets targets;
  for (PushReceiver& receiver : receivers)
    targets.push_back(std::make_unique<HelperTarget>(std::move(receiver.readings), std::move(receiver.socket)));
  return targets;
}

std::unique_ptr<Pusher> prepare_pusher(PushTargets targets, Nanoseconds interval, PushMetrics& metrics, ReadPage read,
                                       Log& log) {
  if (targets.empty()) return nullptr;
  auto pusher = std::make_unique<Pusher>(interval, std::move(read), log);
  for (std::unique_ptr<PushTarget>& target : targets) {
    PushCounters& counters = metrics.emplace_back(std::string(target->name()));
    pusher->add(std::move(target), counters);
  }
  return pusher;
}

UniqueFd start_flight_writer(const Options& options, const Sandbox& sandbox) {
  if (options.flight_directory.empty()) return {};
  std::optional<FlightFolder> folder;
  return sandbox.start(
      {.name = "flight-writer",
       .files = {.writable = {options.flight_directory}},
       .prepare =
           [&](int socket) {
             try {
               folder.emplace(options.flight_directory);
             } catch (const std::system_error& error) {
               report_no_folder(socket, error.code().value(), "open");
               throw;
             }
           },
       .filter = [&](int socket) { return filter_calls_of_flight_writer(socket, folder->descriptor()); },
       .serve = [&](int socket) { write_flights(socket, *folder); }});
}

std::unique_ptr<FlightKeeper> start_flight_keeper(const Options& options, const std::shared_ptr<const Flights>& flights,
                                                  UniqueFd writer, Log& log) {
  if (!writer) return nullptr;
  try {
    return std::make_unique<FlightKeeper>(flights, std::move(writer), log);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("--flight.directory: " + options.flight_directory + ": " + error.what());
  }
}

}  // namespace igpu::exporter
