// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "machine/machine.h"

namespace igpu::test {

class FakePrivileges final : public Privileges {
 public:
  bool has_capability(int number) const override { return capabilities.contains(number); }
  std::uint32_t effective_uid() const override { return uid; }
  bool in_initial_user_namespace() const override { return initial_user_namespace; }

  std::set<int> capabilities{kCapPerfmon, kCapSysPtrace, kCapSysAdmin, kCapDacReadSearch};
  std::uint32_t uid = 0;
  bool initial_user_namespace = true;
};

class FakeNames final : public Names {
 public:
  std::string pci_device(std::uint16_t vendor, std::uint16_t device) const override {
    const auto it = devices.find({vendor, device});
    return it == devices.end() ? std::string() : it->second;
  }
  std::string user(std::uint32_t uid) const override {
    const auto it = users.find(uid);
    return it == users.end() ? std::string() : it->second;
  }

  std::map<std::pair<std::uint16_t, std::uint16_t>, std::string> devices{
      {{0x8086, 0x9a49}, "TigerLake-LP GT2 [Iris Xe Graphics]"},
      {{0x8086, 0x56a5}, "DG2 [Arc A380]"},
      {{0x8086, 0xe20b}, "Battlemage G21 [Arc B580]"}};
  std::map<std::uint32_t, std::string> users{{0, "root"}, {1000, "alice"}};
};

}  // namespace igpu::test
