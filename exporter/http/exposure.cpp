// SPDX-License-Identifier: Apache-2.0
#include "http/exposure.h"

#include <algorithm>
#include <iterator>

#include "platform/sockets.h"

namespace igpu::exporter {
namespace {

constexpr unsigned kLoopbackNet = 127;  // 127.0.0.0/8

bool is_loopback(const std::string& address) {
  if (address.starts_with("unix:")) return true;
  std::string host = address.substr(0, address.rfind(':'));
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  host = host.substr(0, host.find('%'));  // fe80::1%eth0
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == kLoopbackNet;
  in6_addr v6{};
  if (::inet_pton(AF_INET6, host.c_str(), &v6) != 1) return false;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return v6.s6_addr[12] == kLoopbackNet;
  return IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace

std::vector<std::string> reachable_from_outside(const std::vector<std::string>& bound) {
  std::vector<std::string> open;
  std::remove_copy_if(bound.begin(), bound.end(), std::back_inserter(open), is_loopback);
  return open;
}

}  // namespace igpu::exporter
