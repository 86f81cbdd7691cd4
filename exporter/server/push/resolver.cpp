// SPDX-License-Identifier: Apache-2.0
#include "server/push/resolver.h"

#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "igpu/words.h"
#include "platform/sockets.h"

namespace igpu::exporter {
namespace {

constexpr std::size_t kMostAddresses = 8;

// The addresses, separated by commas, or a code of getaddrinfo(3).
HelperAnswer looked_up(const PushEndpoint& endpoint) {
  HelperAnswer answer;
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  Addresses list;
  answer.code = static_cast<std::uint32_t>(look_up(endpoint.host, nullptr, hints, list));
  std::vector<std::string> found;
  for (const addrinfo* at = list.get(); at != nullptr && found.size() < kMostAddresses; at = at->ai_next) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (::getnameinfo(at->ai_addr, at->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0)
      found.emplace_back(text.data());
  }
  put_text(joined(found, ","), answer.detail);
  return answer;
}

}  // namespace

void prepare_to_resolve(const PushEndpoint& endpoint) {
  // With two servers that do not answer and one search domain, 8 s: less than an attempt to deliver has, so that there
  // is time for the address that worked.
  (void)::setenv("RES_OPTIONS", "timeout:2 attempts:1", 0);
  (void)looked_up(endpoint);
}

void serve_addresses(int socket, const PushEndpoint& endpoint) {
  serve_requests(socket, 0, 0, [&](const HelperRequest&) -> std::optional<HelperAnswer> {
    return has_more_requests(socket) ? HelperAnswer() : looked_up(endpoint);  // one that was given up needs none
  });
}

Resolver::Resolved Resolver::resolve(const PushWait& wait) {
  socket_.put({});
  PushWait::Ended how = PushWait::Ended::ready;
  const HelperSocket::Exchange exchange = socket_.finish([&](short events) {
    how = wait.on(socket_.descriptor(), events);
    return how == PushWait::Ended::ready;
  });
  if (exchange == HelperSocket::Exchange::ended)
    return {{}, "the process that resolves names has ended: restart the exporter"};
  if (how == PushWait::Ended::interrupted) return {};
  if (how == PushWait::Ended::late)
    return {{}, "the name " + host_ + " is not resolved in time; check the URL and this machine's DNS"};
  Resolved resolved;
  for (std::string_view rest = socket_.answer().detail.data(); !rest.empty();) {
    std::string address(take_until(rest, ','));
    if (is_address(address)) resolved.addresses.push_back(std::move(address));
  }
  if (!resolved.addresses.empty()) return resolved;
  const int error = static_cast<int>(socket_.answer().code);
  resolved.problem = "the name " + host_ + " cannot be resolved: " + ::gai_strerror(error == 0 ? EAI_NONAME : error) +
                     "; check the URL and this machine's DNS";
  return resolved;
}

}  // namespace igpu::exporter
