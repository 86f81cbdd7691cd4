// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
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

// Appends protobuf fields to a string; write_proto() makes one. The length of a nested message takes four bytes, which
// are filled in when it ends.
class ProtoWriter {
  static constexpr std::size_t kVarint = 10;  // bytes at most

 public:
  static constexpr std::size_t kField = 2 * kVarint;  // bytes at most, of a number; of others without their content

  ProtoWriter(const ProtoWriter&) = delete;
  ProtoWriter& operator=(const ProtoWriter&) = delete;

  void number(std::uint32_t field, std::uint64_t value) {
    ensure(kField);
    recent_end_ = put_varint(put_varint(recent_end_, std::uint64_t{field} << 3), value);
  }
  // Replaces invalid UTF-8, which the format forbids: the kernel may cut the name of a process inside a character.
  void text(std::uint32_t field, std::string_view value) {
    std::string valid;
    if (!is_ascii(value)) value = valid = valid_utf8(value);
    bytes(field, value);
  }
  void bytes(std::uint32_t field, std::string_view value) {  // also for a message that is already encoded
    begin(field, value.size());
    fields(value);
  }
  // Fields that are already encoded.
  void fields(std::string_view encoded) {
    ensure(encoded.size());
    if (encoded.size() > recent_.size()) {
      out_.append(encoded);
    } else {
      recent_end_ = std::copy(encoded.begin(), encoded.end(), recent_end_);
    }
  }
  void fixed64(std::uint32_t field, std::uint64_t value) {
    ensure(kField);
    recent_end_ = put_fixed64(put_varint(recent_end_, std::uint64_t{field} << 3 | 1), value);
  }
  void real(std::uint32_t field, double value) { fixed64(field, std::bit_cast<std::uint64_t>(value)); }
  template <class Value>
  void packed(std::uint32_t field, std::span<const Value> values) {  // numbers of eight bytes
    begin(field, values.size() * 8);
    for (const Value value : values) {
      ensure(8);
      recent_end_ = put_fixed64(recent_end_, std::bit_cast<std::uint64_t>(value));
    }
  }
  template <class Fill>
  void message(std::uint32_t field, Fill&& fill) {
    constexpr std::size_t kLength = 4;
    ensure(kVarint + kLength);
    recent_end_ = put_varint(recent_end_, std::uint64_t{field} << 3 | 2);
    const std::size_t at = size();
    recent_end_ += kLength;
    fill();
    char* length_at = at < out_.size() ? &out_[at] : &recent_[at - out_.size()];
    std::size_t length = size() - at - kLength;
    for (std::size_t i = 1; i < kLength; ++i, length >>= 7) *length_at++ = static_cast<char>(length | 0x80);
    *length_at = static_cast<char>(length & 0x7f);
  }
  // The same for one of at most `most` bytes, whose length takes one.
  static constexpr std::size_t kShort = 127;
  template <class Fill>
  void short_message(std::uint32_t field, std::size_t most, Fill&& fill) {
    ensure(kVarint + most + kField);  // fill()'s own calls must not flush
    char* const length_at = put_varint(recent_end_, std::uint64_t{field} << 3 | 2);
    recent_end_ = length_at + 1;
    fill();
    *length_at = static_cast<char>(recent_end_ - length_at - 1);
  }

 private:
  template <class Fill>
  friend void write_proto(std::string& out, Fill&& fill);
  explicit ProtoWriter(std::string& out) : out_(out) {}

  static char* put_varint(char* at, std::uint64_t value) {
    if (value < 0x80) {  // most tags
      *at = static_cast<char>(value);
      return at + 1;
    }
    for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
    *at++ = static_cast<char>(value);
    return at;
  }
  static char* put_fixed64(char* at, std::uint64_t value) {
    for (int i = 0; i < 8; ++i, value >>= 8) *at++ = static_cast<char>(value & 0xff);
    return at;
  }
  void begin(std::uint32_t field, std::size_t size) {
    ensure(kField);
    recent_end_ = put_varint(put_varint(recent_end_, std::uint64_t{field} << 3 | 2), size);
  }
  std::size_t recent_size() const { return static_cast<std::size_t>(recent_end_ - recent_.data()); }
  std::size_t size() const { return out_.size() + recent_size(); }
  void ensure(std::size_t bytes) {
    if (recent_.size() - recent_size() < bytes) flush();
  }
  void flush() {
    out_.append(recent_.data(), recent_size());
    recent_end_ = recent_.data();
  }

  std::string& out_;
  // What was written last. Fields are small: appending each to the string took a third of a recorder's time.
  std::array<char, 512> recent_;
  char* recent_end_ = recent_.data();
};

// Calls fill(writer) and appends what it wrote. Nothing else may append to the string meanwhile.
template <class Fill>
void write_proto(std::string& out, Fill&& fill) {
  ProtoWriter writer(out);
  fill(writer);
  writer.flush();
}

}  // namespace igpu::exporter
