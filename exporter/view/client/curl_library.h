// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include <string>

#include "platform/shared_library.h"

namespace igpu::exporter {

#define IGPU_CURL(name) decltype(&::curl_##name) name = library.symbol<decltype(&::curl_##name)>("curl_" #name)

// The functions of libcurl. Constructing the first object loads the library. purpose: what needs it, for the error.
struct CurlLibrary {
  explicit CurlLibrary(const std::string& purpose)
      : library({"libcurl.so.4", "libcurl-gnutls.so.4"}, purpose, "libcurl4") {}

  SharedLibrary library;
  IGPU_CURL(global_init);
  IGPU_CURL(version_info);
  IGPU_CURL(easy_init);
  IGPU_CURL(easy_setopt);
  IGPU_CURL(easy_getinfo);
  IGPU_CURL(easy_strerror);
  IGPU_CURL(easy_cleanup);
  IGPU_CURL(easy_send);
  IGPU_CURL(easy_recv);
  IGPU_CURL(slist_append);
  IGPU_CURL(slist_free_all);
  IGPU_CURL(multi_init);
  IGPU_CURL(multi_add_handle);
  IGPU_CURL(multi_remove_handle);
  IGPU_CURL(multi_perform);
  IGPU_CURL(multi_poll);
  IGPU_CURL(multi_wakeup);
  IGPU_CURL(multi_info_read);
  IGPU_CURL(multi_cleanup);
};

#undef IGPU_CURL

}  // namespace igpu::exporter
