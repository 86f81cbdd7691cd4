// SPDX-License-Identifier: Apache-2.0
#include "http/framing.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace igpu::exporter {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// The size of the head; 0: not all of it is here; npos: no head of any request.
std::size_t head_size(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    if (c == '\n') {
      if (i + 1 < bytes.size() && bytes[i + 1] == '\n') return i + 2;
      if (i + 2 < bytes.size() && bytes[i + 1] == '\r' && bytes[i + 2] == '\n') return i + 3;
    } else if ((c < ' ' && c != '\r' && c != '\t') || c == 127) {
      return std::string_view::npos;
    }
  }
  return 0;
}

std::uint64_t body_size(std::string_view digits) {
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  if (error == std::errc() && end == digits.data() + digits.size()) return size;
  return std::numeric_limits<std::uint64_t>::max();
}

void read_header(std::string_view line, RequestFraming& framing) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (same(name, "content-length")) {
    framing.announced_body = std::max(framing.announced_body, body_size(value));
  } else if (same(name, "transfer-encoding")) {
    framing.chunked_body = true;
  } else if (same(name, "connection")) {
    if (has_token(value, "close")) framing.keep_alive = false;
  }
}

}  // namespace

bool has_token(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (same(trimmed(list.substr(0, comma)), token)) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
  return false;
}

RequestFraming scan_request(std::string_view bytes) {
  RequestFraming framing;
  const std::size_t size = head_size(bytes);
  if (size == 0) return framing;
  if (size == std::string_view::npos) {
    framing.state = RequestFraming::State::malformed;
    return framing;
  }
  framing.state = RequestFraming::State::complete;
  framing.head_size = size;
  std::string_view head = bytes.substr(0, size);
  const std::size_t first_end = head.find('\n');
  const std::string_view first = trimmed(head.substr(0, first_end));
  const std::size_t target = std::min(first.find(' '), first.size());
  const std::size_t version = std::max(std::min(first.rfind(' '), first.size()), target);
  framing.target_size = version > target ? version - target - 1 : 0;
  framing.keep_alive = first.ends_with(" HTTP/1.1");
  head.remove_prefix(first_end + 1);
  while (!head.empty()) {
    const std::size_t end = head.find('\n');
    read_header(head.substr(0, end), framing);
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
  }
  return framing;
}

}  // namespace igpu::exporter
