// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include <string>

namespace igpu::exporter {

// A failed request as libcurl reports it.
struct FailedTransfer {
  CURLcode code = CURLE_OK;
  std::string detail;  // one line, in libcurl's words
  int os_error = 0;    // errno of a failed connection; 0 if unknown
  bool tls = false;
  bool client_certificate = false;  // a client certificate is configured, and was sent if the server requested it
  std::string max_time;             // "5 s"
};

// One line for a person, with the option that helps.
std::string describe(const FailedTransfer& failed);

}  // namespace igpu::exporter
