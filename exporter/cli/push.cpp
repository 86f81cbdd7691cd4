// SPDX-License-Identifier: Apache-2.0
#include "cli/push.h"

#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

#include "platform/host_name.h"
#include "push/connector.h"
#include "push/credentials.h"
#include "push/mqtt_target.h"
#include "push/otlp.h"
#include "push/push_target.h"
#include "push/pusher.h"

namespace igpu::exporter {
namespace {

int start_connector(Sandbox& sandbox, const PushEndpoint& endpoint) {
  return sandbox.start_push_connector(
      endpoint.port, [&endpoint] { prepare_to_resolve(endpoint); },
      [&endpoint](int socket) { serve_connections(socket, endpoint); });
}

struct Threads final : PushThreads {
  Threads(Nanoseconds interval, ReadPage read, Log& log) : pusher(interval, std::move(read), log) {}
  void start() override { pusher.start(); }

  Pusher pusher;
};

}  // namespace

struct PushSetup::State {
  struct Receiver {
    PushRoute route;
    int connector;
    std::unique_ptr<PushTarget> target;
  };

  State(const PushOptions& wanted, Sandbox& of, const Environment& environment)
      : options(wanted), sandbox(of), otlp(reach(wanted.otlp, environment)), mqtt(reach(wanted.mqtt, environment)) {}

  std::optional<Receiver> reach(const std::optional<PushAddress>& address, const Environment& environment) {
    if (!address) return std::nullopt;
    PushRoute route = route_to(*address, environment);
    const int connector = start_connector(sandbox, route.endpoint);
    return Receiver{std::move(route), connector, nullptr};
  }

  const PushOptions& options;
  Sandbox& sandbox;
  std::optional<Receiver> otlp, mqtt;
};

PushSetup::PushSetup(const PushOptions& options, Sandbox& sandbox, const Environment& environment)
    : state_(std::make_unique<State>(options, sandbox, environment)) {}

PushSetup::~PushSetup() = default;

void PushSetup::prepare_targets() {
  if (!state_->otlp && !state_->mqtt) return;
  const auto credentials = [](const std::string& file) {
    return file.empty() ? PushCredentials() : read_credentials(file);
  };
  const std::string authorities = state_->options.cacert.empty() ? "" : read_authorities(state_->options.cacert);
  if (state_->otlp) {
    state_->otlp->target =
        std::make_unique<Otlp>(state_->otlp->route, credentials(state_->options.otlp_credentials), authorities,
                               Connector(state_->otlp->connector, state_->otlp->route.endpoint), own_resource());
  }
  if (state_->mqtt) {
    MqttSettings settings{
        .host = own_host_name(),
        .topic_base = mqtt_topic_base(state_->mqtt->route.address.path),
        .interval = std::chrono::ceil<std::chrono::seconds>(state_->options.interval),
        .user = mqtt_user(credentials(state_->options.mqtt_credentials), state_->options.mqtt_credentials),
        .page_url = state_->options.mqtt_page_url};
    PushRoute route = state_->mqtt->route;
    route.address.path.clear();
    state_->mqtt->target = std::make_unique<MqttTarget>(
        std::move(settings),
        connect_by_curl(std::make_shared<CurlSession>(
            std::move(route), authorities, Connector(state_->mqtt->connector, state_->mqtt->route.endpoint))));
  }
}

std::unique_ptr<PushThreads> PushSetup::start_threads(PushMetrics& metrics, ReadPage read, Log& log) {
  State& state = *state_;
  if (!state.otlp && !state.mqtt) return nullptr;
  auto threads = std::make_unique<Threads>(state.options.interval, std::move(read), log);
  for (std::optional<State::Receiver>* const receiver : {&state.otlp, &state.mqtt}) {
    if (!*receiver) continue;
    PushCounters& counters = metrics.add(std::string((*receiver)->target->name()));
    const auto confine = [&sandbox = state.sandbox, connector = (*receiver)->connector] {
      if (!sandbox.filter_push_thread(connector)) throw std::runtime_error("the filter of system calls is refused");
    };
    threads->pusher.add(std::move((*receiver)->target), counters, confine);
  }
  return threads;
}

}  // namespace igpu::exporter
