// SPDX-License-Identifier: Apache-2.0
#include "kernel/clients/client_finder.h"

#include "kernel/clients/bpf_finder.h"
#include "kernel/clients/client_walk.h"
#include "kernel/clients/wddm_clients.h"

namespace igpu {

std::unique_ptr<ClientFinder> make_client_finder(Machine& machine) {
  if (machine.adapters) return std::make_unique<WddmClients>(machine);
  const ClientWalk::Limits limits{.time = machine.client_scan_limit};
  if (machine.drm_users) return std::make_unique<BpfFinder>(machine, **machine.drm_users, limits);
  return std::make_unique<ClientWalk>(machine, limits);
}

}  // namespace igpu
