// SPDX-License-Identifier: Apache-2.0
#include "http/message.h"

namespace igpu::exporter {

void HttpResponse::clear() {
  status = 200;
  content_type = "text/plain; charset=utf-8";
  headers.clear();
  keeps_alive.reset();
  body.clear();
  shared_body.reset();
}

void HttpResponse::fail(int code, std::string_view message) {
  clear();
  status = code;
  body.assign(message);
  body += '\n';
}

}  // namespace igpu::exporter
