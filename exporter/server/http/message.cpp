// SPDX-License-Identifier: Apache-2.0
#include "server/http/message.h"

#include <civetweb.h>

#include <stdexcept>

namespace igpu::exporter {

std::string event_bytes(std::string_view data, std::string_view name) {
  std::string bytes;
  bytes.reserve(data.size() + name.size() + 24);
  if (!name.empty()) bytes.append("event: ").append(name).append("\n");
  return bytes.append("data: ").append(data).append("\n\n");
}

void HttpResponse::fail(int code, std::string_view message) {
  *this = {};
  status = code;
  body.assign(message);
  body += '\n';
}

std::string url_decoded(std::string_view text) {
  std::string decoded(text.size() + 1, '\0');  // with CivetWeb's terminating zero
  const int size = mg_url_decode(text.data(), static_cast<int>(text.size()), decoded.data(),
                                 static_cast<int>(decoded.size()), /*is_form_url_encoded=*/0);
  decoded.resize(static_cast<std::size_t>(size));
  return decoded;
}

std::vector<std::string> query_values(std::string_view query, std::string_view name) {
  if (query.find("%00") != std::string_view::npos) throw std::invalid_argument("a zero byte in the query");
  std::string text(query);
  const int most = mg_split_form_urlencoded(text.data(), nullptr, 0);
  std::vector<mg_header> variables(static_cast<std::size_t>(most));
  const int number = mg_split_form_urlencoded(text.data(), variables.data(), static_cast<unsigned>(most));
  std::vector<std::string> values;
  for (int i = 0; i < number; ++i) {
    const auto& [variable, value] = variables[static_cast<std::size_t>(i)];
    if (variable == name) values.emplace_back(value == nullptr ? "" : value);
  }
  return values;
}

}  // namespace igpu::exporter
