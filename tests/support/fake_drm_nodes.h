// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "machine/drm_node.h"
#include "machine/filesystem.h"

namespace igpu::test {

// Render nodes whose ioctls are answered by a function: 0 or an errno. A node that was not added does not exist.
class FakeDrmNodes final : public DrmNodes {
 public:
  using Answer = std::function<int(unsigned long request, void* argument)>;

  Reading<std::unique_ptr<DrmNode>> open(std::string_view name) override {
    ++opens;
    const auto it = nodes_.find(std::string(name));
    if (it == nodes_.end()) return absent_of_errno(ENOENT);
    if (it->second.open_error != 0)
      return outcome_of_errno<std::unique_ptr<DrmNode>>(it->second.open_error, "dev/dri/" + std::string(name));
    return std::unique_ptr<DrmNode>(std::make_unique<Node>(*this, std::string(name)));
  }
  void add(const std::string& name, Answer answer) { nodes_[name] = {std::move(answer), 0}; }
  void refuse(const std::string& name, int error) { nodes_[name].open_error = error; }

  int opens = 0;
  int open_now = 0;

 private:
  struct Entry {
    Answer answer;
    int open_error = 0;
  };
  class Node final : public DrmNode {
   public:
    Node(FakeDrmNodes& nodes, std::string name) : nodes_(nodes), name_(std::move(name)) { ++nodes_.open_now; }
    ~Node() override { --nodes_.open_now; }
    Reading<Unit> ioctl(unsigned long request, void* argument) override {
      const Answer& answer = nodes_.nodes_[name_].answer;
      const int error = answer ? answer(request, argument) : ENOTTY;
      if (error != 0) return outcome_of_errno<Unit>(error, "ioctl of a render node");
      return Unit{};
    }

   private:
    FakeDrmNodes& nodes_;
    std::string name_;
  };
  std::map<std::string, Entry> nodes_;
};

// What a render node of xe answers about the clock of its only GT (drm_xe_device_query, include/uapi/drm/xe_drm.h).
inline FakeDrmNodes::Answer xe_clock_of(std::uint32_t hertz) {
  return [hertz](unsigned long, void* argument) {
    struct Query {
      std::uint64_t extensions;
      std::uint32_t query;
      std::uint32_t size;
      std::uint64_t data;
    };
    std::array<std::uint32_t, 26> gts{1};  // their number; then one GT of 96 bytes with its clock behind 12
    gts[5] = hertz;
    auto& query = *static_cast<Query*>(argument);
    if (query.query != 3) return EINVAL;
    if (query.size != 0) std::memcpy(reinterpret_cast<void*>(query.data), gts.data(), sizeof gts);
    query.size = sizeof gts;
    return 0;
  };
}

}  // namespace igpu::test
