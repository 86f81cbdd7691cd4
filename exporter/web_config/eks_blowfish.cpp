// SPDX-License-Identifier: Apache-2.0
#include "web_config/eks_blowfish.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

namespace igpu::exporter {
namespace {

constexpr std::size_t kRounds = 16;
constexpr std::size_t kSubkeys = kRounds + 2;
constexpr std::size_t kBoxWords = 4 * 256;
constexpr std::size_t kWords = kSubkeys + kBoxWords;
constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kHashBytes = 23;  // of the 24 that are computed

// ---- The first 1042 words of the fraction of pi, with which Blowfish begins ----

// Fixed point: one word before the point, most significant word first, and some for the rounding of the divisions.
constexpr std::size_t kGuard = 2;
using Fixed = std::array<std::uint32_t, 1 + kWords + kGuard>;

// Words before `first` are 0. Returns the new `first`.
std::size_t divide(Fixed& number, std::uint32_t by, std::size_t first) {
  std::uint64_t rest = 0;
  for (std::size_t i = first; i < number.size(); ++i) {
    const std::uint64_t part = (rest << 32U) | number[i];
    number[i] = static_cast<std::uint32_t>(part / by);
    rest = part % by;
  }
  while (first < number.size() && number[first] == 0) ++first;
  return first;
}

void add(Fixed& to, const Fixed& term) {
  std::uint64_t carry = 0;
  for (std::size_t i = to.size(); i-- > 0;) {
    carry += std::uint64_t{to[i]} + term[i];
    to[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32U;
  }
}

void subtract(Fixed& from, const Fixed& term) {
  std::uint64_t borrow = 0;
  for (std::size_t i = from.size(); i-- > 0;) {
    const std::uint64_t difference = std::uint64_t{from[i]} - term[i] - borrow;
    from[i] = static_cast<std::uint32_t>(difference);
    borrow = (difference >> 32U) & 1U;
  }
}

// times * arctan(1 / of), by its series.
Fixed arctangent(std::uint32_t times, std::uint32_t of) {
  Fixed power{};
  power[0] = times;
  std::size_t first = divide(power, of, 0);
  Fixed sum = power;
  for (std::uint32_t odd = 3; first < power.size(); odd += 2) {
    first = divide(power, of * of, first);
    Fixed term = power;
    (void)divide(term, odd, first);
    if (odd % 4 == 3) {
      subtract(sum, term);
    } else {
      add(sum, term);
    }
  }
  return sum;
}

// John Machin's formula: pi = 16 arctan(1/5) - 4 arctan(1/239).
const Fixed& pi() {
  static const Fixed value = [] {
    Fixed sum = arctangent(16, 5);
    subtract(sum, arctangent(4, 239));
    return sum;
  }();
  return value;
}

// ---- Blowfish with its expensive key schedule ----

class Cipher {
 public:
  Cipher() {
    const auto* fraction = pi().data() + 1;
    std::copy_n(fraction, kSubkeys, subkeys_.begin());
    std::copy_n(fraction + kSubkeys, kBoxWords, boxes_.begin());
  }
  ~Cipher() {
    OPENSSL_cleanse(subkeys_.data(), sizeof subkeys_);
    OPENSSL_cleanse(boxes_.data(), sizeof boxes_);
  }
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;

  // salt: empty, or kSaltBytes.
  void expand(std::string_view key, std::string_view salt) {
    std::size_t at = 0;
    for (std::uint32_t& subkey : subkeys_) subkey ^= next_word(key, at);
    std::uint32_t left = 0, right = 0;
    std::size_t salt_at = 0;
    const auto fill = [&](auto& words) {
      for (std::size_t i = 0; i < words.size(); i += 2) {
        if (!salt.empty()) {
          left ^= next_word(salt, salt_at);
          right ^= next_word(salt, salt_at);
        }
        encrypt(left, right);
        words[i] = left;
        words[i + 1] = right;
      }
    };
    fill(subkeys_);
    fill(boxes_);
  }

  void encrypt(std::uint32_t& left, std::uint32_t& right) const {
    for (std::size_t round = 0; round < kRounds; ++round) {
      left ^= subkeys_[round];
      right ^= mix(left);
      std::swap(left, right);
    }
    std::swap(left, right);
    right ^= subkeys_[kRounds];
    left ^= subkeys_[kRounds + 1];
  }

  // The bytes repeat without end.
  static std::uint32_t next_word(std::string_view bytes, std::size_t& at) {
    std::uint32_t word = 0;
    for (int i = 0; i < 4; ++i) {
      word = (word << 8U) | static_cast<unsigned char>(bytes[at]);
      at = (at + 1) % bytes.size();
    }
    return word;
  }

 private:
  std::uint32_t mix(std::uint32_t x) const {
    return ((boxes_[x >> 24U] + boxes_[256 + ((x >> 16U) & 0xffU)]) ^ boxes_[512 + ((x >> 8U) & 0xffU)]) +
           boxes_[768 + (x & 0xffU)];
  }

  std::array<std::uint32_t, kSubkeys> subkeys_;
  std::array<std::uint32_t, kBoxWords> boxes_;
};

// ---- bcrypt's own base 64: other characters, no padding ----

constexpr std::string_view kDigits = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

std::string decode(std::string_view text, std::size_t bytes) {
  std::string out;
  std::uint32_t buffer = 0;
  unsigned bits = 0;
  for (const char c : text) {
    buffer = (buffer << 6U) | static_cast<std::uint32_t>(kDigits.find(c));
    bits += 6;
    if (bits < 8 || out.size() == bytes) continue;
    bits -= 8;
    out += static_cast<char>((buffer >> bits) & 0xffU);
  }
  return out;
}

void encode(std::string_view bytes, std::string& out) {
  std::uint32_t buffer = 0;
  unsigned bits = 0;
  for (const char c : bytes) {
    buffer = (buffer << 8U) | static_cast<unsigned char>(c);
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      out += kDigits[(buffer >> bits) & 0x3fU];
    }
  }
  if (bits > 0) out += kDigits[(buffer << (6 - bits)) & 0x3fU];
}

}  // namespace

std::string eks_blowfish_hash(std::string_view password, std::string_view setting) {
  const std::string salt = decode(setting.substr(kSaltBegin, kHashBegin - kSaltBegin), kSaltBytes);
  const auto cost = static_cast<unsigned>((setting[4] - '0') * 10 + (setting[5] - '0'));
  std::string key(password.substr(0, kCountedPassword));
  if (key.size() < kCountedPassword) key += '\0';  // it counts as the end of the password
  const auto cipher = std::make_unique<Cipher>();
  cipher->expand(key, salt);
  for (std::uint64_t i = 0; i < std::uint64_t{1} << cost; ++i) {
    cipher->expand(key, {});
    cipher->expand(salt, {});
  }
  OPENSSL_cleanse(key.data(), key.size());

  std::string hashed;
  constexpr std::string_view kText = "OrpheanBeholderScryDoubt";
  std::size_t at = 0;
  for (std::size_t block = 0; block < kText.size() / 8; ++block) {
    std::uint32_t left = Cipher::next_word(kText, at), right = Cipher::next_word(kText, at);
    for (int i = 0; i < 64; ++i) cipher->encrypt(left, right);
    for (const std::uint32_t word : {left, right}) {
      for (unsigned shift = 32; shift > 0; shift -= 8) hashed += static_cast<char>((word >> (shift - 8)) & 0xffU);
    }
  }
  std::string out(setting.substr(0, kSaltBegin));
  encode(salt, out);
  encode(std::string_view(hashed).substr(0, kHashBytes), out);
  return out;
}

}  // namespace igpu::exporter
