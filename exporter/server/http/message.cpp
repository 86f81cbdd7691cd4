// SPDX-License-Identifier: Apache-2.0
#include "server/http/message.h"

namespace igpu::exporter {

std::string event_bytes(std::string_view data, std::string_view name) {
  std::string bytes;
  bytes.reserve(data.size() + name.size() + 24);
  if (!name.empty()) bytes.append("event: ").append(name).append("\n");
  return bytes.append("data: ").append(data).append("\n\n");
}

void HttpResponse::clear() {
  status = 200;
  content_type = "text/plain; charset=utf-8";
  headers.clear();
  keeps_alive.reset();
  body.clear();
  shared_body.reset();
  subscription.reset();
}

void HttpResponse::fail(int code, std::string_view message) {
  clear();
  status = code;
  body.assign(message);
  body += '\n';
}

}  // namespace igpu::exporter
