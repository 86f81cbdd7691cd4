// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/text.h"

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
      case 0: return varint(field.value) || damage();
      case 1: return eight_bytes(field.value) || damage();
      case 2: {
        std::uint64_t length = 0;
        if (!varint(length) || length > rest_.size()) return damage();
        field.bytes = rest_.substr(0, static_cast<std::size_t>(length));
        rest_.remove_prefix(static_cast<std::size_t>(length));
        return true;
      }
      case 5: return skip(4) || damage();
      default: return damage();
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

// Appends protobuf fields to a buffer. The length of a nested message takes four bytes, which are filled in when it
// ends.
class ProtoWriter {
 public:
  explicit ProtoWriter(std::string& out) : out_(out) {}

  void number(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3);
    varint(value);
  }
  // Replaces invalid UTF-8, which the format forbids: the kernel may cut the name of a process inside a character.
  void text(std::uint32_t field, std::string_view value) {
    std::string valid;
    if (!is_ascii(value)) value = valid = valid_utf8(value);
    bytes(field, value);
  }
  void bytes(std::uint32_t field, std::string_view value) {  // also for a message that is already encoded
    varint(std::uint64_t{field} << 3 | 2);
    varint(value.size());
    out_.append(value);
  }
  void fixed64(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3 | 1);
    eight_bytes(value);
  }
  void real(std::uint32_t field, double value) { fixed64(field, std::bit_cast<std::uint64_t>(value)); }
  // Appends an element to the content of a packed repeated field.
  static void append_fixed64(std::string& packed, std::uint64_t value) { ProtoWriter(packed).eight_bytes(value); }
  static void append_real(std::string& packed, double value) {
    append_fixed64(packed, std::bit_cast<std::uint64_t>(value));
  }
  template <class Fill>
  void message(std::uint32_t field, Fill&& fill) {
    varint(std::uint64_t{field} << 3 | 2);
    const std::size_t at = out_.size();
    out_.append(4, '\0');
    fill();
    std::size_t length = out_.size() - at - 4;
    for (std::size_t i = 0; i < 4; ++i) {
      out_[at + i] = static_cast<char>((length & 0x7f) | (i < 3 ? 0x80 : 0));
      length >>= 7;
    }
  }

 private:
  void eight_bytes(std::uint64_t value) {
    std::array<char, 8> bytes;
    for (char& byte : bytes) {
      byte = static_cast<char>(value & 0xff);
      value >>= 8;
    }
    out_.append(bytes.data(), bytes.size());
  }
  void varint(std::uint64_t value) {
    std::array<char, 10> bytes;  // one append: a third of the recorder's time went into appending bytes one by one
    std::size_t count = 0;
    for (; value >= 0x80; value >>= 7) bytes[count++] = static_cast<char>(value | 0x80);
    bytes[count++] = static_cast<char>(value);
    out_.append(bytes.data(), count);
  }

  std::string& out_;
};

}  // namespace igpu::exporter
