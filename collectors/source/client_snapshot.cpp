// SPDX-License-Identifier: Apache-2.0
#include "source/client_snapshot.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace igpu {

void keep_one_holder_each(ClientSnapshot& snapshot) {
  auto& clients = snapshot.clients;
  std::sort(clients.begin(), clients.end(), [](const DrmClient& a, const DrmClient& b) {
    return std::tie(a.device, a.id, a.pid) < std::tie(b.device, b.id, b.pid);
  });
  clients.erase(
      std::unique(clients.begin(), clients.end(),
                  [](const DrmClient& a, const DrmClient& b) { return a.id == b.id && a.device == b.device; }),
      clients.end());
  std::sort(clients.begin(), clients.end(), [](const DrmClient& a, const DrmClient& b) {
    return std::tie(a.device, a.pid, a.id) < std::tie(b.device, b.pid, b.id);
  });
  auto& processes = snapshot.processes;
  std::sort(processes.begin(), processes.end(),
            [](const ClientProcess& a, const ClientProcess& b) { return a.pid < b.pid; });
  processes.erase(std::unique(processes.begin(), processes.end(),
                              [](const ClientProcess& a, const ClientProcess& b) { return a.pid == b.pid; }),
                  processes.end());
  // Processes whose clients all belong to other processes hold none.
  std::vector<std::uint32_t> holders;
  holders.reserve(clients.size());
  for (const DrmClient& client : clients) holders.push_back(client.pid);
  std::sort(holders.begin(), holders.end());
  std::erase_if(processes, [&](const ClientProcess& process) {
    return !std::binary_search(holders.begin(), holders.end(), process.pid);
  });
}

}  // namespace igpu
