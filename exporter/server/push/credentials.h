// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace igpu::exporter {

// The content of a file with credentials: a user, or HTTP headers.
struct PushCredentials {
  std::string user, password;
  std::vector<std::string> headers;  // "Authorization: Bearer abc"
};

// The text is one line NAME:PASSWORD, or lines "Header: value" with a blank after the colon; empty lines and those that
// begin with # are skipped. Throws std::invalid_argument; its reason does not quote the text.
PushCredentials parse_credentials(std::string_view text);

// A receiver's words, for the log: whoever gets the credentials may send them back.
std::string without_credentials(std::string text, const PushCredentials& credentials);

// Throws std::runtime_error with the path and the fix; also if every user of this machine can read the file.
PushCredentials read_credentials(const std::string& path);

// Certificates (PEM) to trust. Throws std::runtime_error with the path.
std::string read_authorities(const std::string& path);

}  // namespace igpu::exporter
