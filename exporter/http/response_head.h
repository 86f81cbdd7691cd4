// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "http/message.h"

namespace igpu::exporter {

// "Not Found" for 404.
std::string_view status_text(int status);

// Status line and headers, without "Connection" and the empty line, which the front adds.
std::string response_head(const HttpResponse& response);

}  // namespace igpu::exporter
