// SPDX-License-Identifier: Apache-2.0
#include "cli/push.h"

#include <chrono>
#include <stdexcept>
#include <utility>

#include "push/credentials.h"
#include "push/host_name.h"
#include "push/mqtt_target.h"
#include "push/otlp.h"

namespace igpu::exporter {
namespace {

int start_connector(Sandbox& sandbox, const PushEndpoint& endpoint) {
  return sandbox.start_push_connector(
      endpoint.port, [&endpoint] { prepare_to_resolve(endpoint); },
      [&endpoint](int socket) { serve_connections(socket, endpoint); });
}

}  // namespace

PushSetup::PushSetup(const PushOptions& options, Sandbox& sandbox, const Environment& environment)
    : options_(options),
      sandbox_(sandbox),
      otlp_(reach(options.otlp, environment)),
      mqtt_(reach(options.mqtt, environment)) {}

std::optional<PushSetup::Receiver> PushSetup::reach(const std::optional<PushAddress>& address,
                                                    const Environment& environment) {
  if (!address) return std::nullopt;
  PushRoute route = route_to(*address, environment);
  const int connector = start_connector(sandbox_, route.endpoint);
  return Receiver{std::move(route), connector, nullptr};
}

void PushSetup::prepare_targets() {
  if (!otlp_ && !mqtt_) return;
  const auto credentials = [](const std::string& file) {
    return file.empty() ? PushCredentials() : read_credentials(file);
  };
  const std::string authorities = options_.cacert.empty() ? "" : read_authorities(options_.cacert);
  if (otlp_) {
    otlp_->target = std::make_unique<Otlp>(otlp_->route, credentials(options_.otlp_credentials), authorities,
                                           Connector(otlp_->connector, otlp_->route.endpoint), own_resource());
  }
  if (mqtt_) {
    MqttSettings settings{.host = own_host_name(),
                          .topic_base = mqtt_topic_base(mqtt_->route.address.path),
                          .interval = std::chrono::ceil<std::chrono::seconds>(options_.interval),
                          .user = mqtt_user(credentials(options_.mqtt_credentials), options_.mqtt_credentials)};
    PushRoute route = mqtt_->route;
    route.address.path.clear();
    mqtt_->target = std::make_unique<MqttTarget>(
        std::move(settings), connect_by_curl(std::make_shared<CurlSession>(
                                 std::move(route), authorities, Connector(mqtt_->connector, mqtt_->route.endpoint))));
  }
}

std::unique_ptr<Pusher> PushSetup::start_threads(PushMetrics& metrics, ReadPage read, Log& log) {
  if (!otlp_ && !mqtt_) return nullptr;
  auto pusher = std::make_unique<Pusher>(options_.interval, std::move(read), log);
  for (std::optional<Receiver>* const receiver : {&otlp_, &mqtt_}) {
    if (!*receiver) continue;
    PushCounters& counters = metrics.add(std::string((*receiver)->target->name()));
    pusher->add(std::move((*receiver)->target), counters, [&sandbox = sandbox_, connector = (*receiver)->connector] {
      if (!sandbox.filter_push_thread(connector)) throw std::runtime_error("the filter of system calls is refused");
    });
  }
  return pusher;
}

}  // namespace igpu::exporter
