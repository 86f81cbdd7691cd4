// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace igpu::exporter {

// One field of a protobuf message.
struct ProtoField {
  std::uint32_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;  // content of a nested message, a string or bytes
};

// Iterates over the fields of a message. Malformed input sets damaged().
class ProtoFields {
 public:
  explicit ProtoFields(std::string_view bytes) : rest_(bytes) {}
  // Returns false at the end, and at bytes that are not a field; then damaged() is true.
  bool next(ProtoField& field) {
    if (rest_.empty() || damaged_) return false;
    std::uint64_t tag = 0;
    if (!varint(tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff) return damage();
    field = {};
    field.number = static_cast<std::uint32_t>(tag >> 3);
    switch (tag & 7) {
      case 0:
        return varint(field.value) || damage();
      case 1:
        return eight_bytes(field.value) || damage();
      case 2: {
        std::uint64_t length = 0;
        if (!varint(length) || length > rest_.size()) return damage();
        field.bytes = rest_.substr(0, static_cast<std::size_t>(length));
        rest_.remove_prefix(static_cast<std::size_t>(length));
        return true;
      }
      case 5:
        return skip(4) || damage();
      default:
        return damage();
    }
  }
  bool damaged() const { return damaged_; }
  std::size_t left() const { return rest_.size(); }

 private:
  bool damage() {
    damaged_ = true;
    return false;
  }
  bool skip(std::size_t size) {
    if (rest_.size() < size) return false;
    rest_.remove_prefix(size);
    return true;
  }
  bool eight_bytes(std::uint64_t& value) {
    if (rest_.size() < 8) return false;
    value = 0;
    for (unsigned i = 0; i < 8; ++i) value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
    return skip(8);
  }
  bool varint(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return false;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  std::string_view rest_;
  bool damaged_ = false;
};

}  // namespace igpu::exporter
