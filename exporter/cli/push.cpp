// SPDX-License-Identifier: Apache-2.0
#include "cli/push.h"

#include <stdexcept>
#include <utility>

#include "push/credentials.h"
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
    : options_(options), sandbox_(sandbox) {
  if (!options.otlp) return;
  PushRoute route = route_to(*options.otlp, environment);
  const int connector = start_connector(sandbox, route.endpoint);
  otlp_.emplace(Receiver{std::move(route), connector, nullptr});
}

void PushSetup::prepare_targets() {
  if (!otlp_) return;
  PushCredentials credentials;
  if (!options_.otlp_credentials.empty()) credentials = read_credentials(options_.otlp_credentials);
  std::string authorities;
  if (!options_.cacert.empty()) authorities = read_authorities(options_.cacert);
  otlp_->target = std::make_unique<Otlp>(otlp_->route, std::move(credentials), std::move(authorities),
                                         Connector(otlp_->connector, otlp_->route.endpoint), own_resource());
}

std::unique_ptr<Pusher> PushSetup::start_threads(PushMetrics& metrics, ReadPage read, Log& log) {
  if (!otlp_) return nullptr;
  auto pusher = std::make_unique<Pusher>(options_.interval, std::move(read), log);
  PushCounters& counters = metrics.add(std::string(otlp_->target->name()));
  pusher->add(std::move(otlp_->target), counters, [&sandbox = sandbox_, connector = otlp_->connector] {
    if (!sandbox.filter_push_thread(connector)) throw std::runtime_error("the filter of system calls is refused");
  });
  return pusher;
}

}  // namespace igpu::exporter
