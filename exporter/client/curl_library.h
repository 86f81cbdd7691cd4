// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include <string>

#include "service/shared_library.h"

namespace igpu::exporter {

// The functions of libcurl. Constructing the first object loads the library. purpose: what needs it, for the error.
struct CurlLibrary {
  explicit CurlLibrary(const std::string& purpose)
      : library({"libcurl.so.4", "libcurl-gnutls.so.4"}, purpose, "libcurl4") {}

  SharedLibrary library;
  decltype(&::curl_global_init) global_init = library.symbol<decltype(&::curl_global_init)>("curl_global_init");
  decltype(&::curl_version_info) version_info = library.symbol<decltype(&::curl_version_info)>("curl_version_info");
  decltype(&::curl_easy_init) easy_init = library.symbol<decltype(&::curl_easy_init)>("curl_easy_init");
  decltype(&::curl_easy_setopt) easy_setopt = library.symbol<decltype(&::curl_easy_setopt)>("curl_easy_setopt");
  decltype(&::curl_easy_getinfo) easy_getinfo = library.symbol<decltype(&::curl_easy_getinfo)>("curl_easy_getinfo");
  decltype(&::curl_easy_strerror) easy_strerror = library.symbol<decltype(&::curl_easy_strerror)>("curl_easy_strerror");
  decltype(&::curl_easy_cleanup) easy_cleanup = library.symbol<decltype(&::curl_easy_cleanup)>("curl_easy_cleanup");
  decltype(&::curl_easy_send) easy_send = library.symbol<decltype(&::curl_easy_send)>("curl_easy_send");
  decltype(&::curl_easy_recv) easy_recv = library.symbol<decltype(&::curl_easy_recv)>("curl_easy_recv");
  decltype(&::curl_slist_append) slist_append = library.symbol<decltype(&::curl_slist_append)>("curl_slist_append");
  decltype(&::curl_slist_free_all) slist_free_all =
      library.symbol<decltype(&::curl_slist_free_all)>("curl_slist_free_all");
  decltype(&::curl_multi_init) multi_init = library.symbol<decltype(&::curl_multi_init)>("curl_multi_init");
  decltype(&::curl_multi_add_handle) multi_add_handle =
      library.symbol<decltype(&::curl_multi_add_handle)>("curl_multi_add_handle");
  decltype(&::curl_multi_remove_handle) multi_remove_handle =
      library.symbol<decltype(&::curl_multi_remove_handle)>("curl_multi_remove_handle");
  decltype(&::curl_multi_perform) multi_perform = library.symbol<decltype(&::curl_multi_perform)>("curl_multi_perform");
  decltype(&::curl_multi_poll) multi_poll = library.symbol<decltype(&::curl_multi_poll)>("curl_multi_poll");
  decltype(&::curl_multi_wakeup) multi_wakeup = library.symbol<decltype(&::curl_multi_wakeup)>("curl_multi_wakeup");
  decltype(&::curl_multi_info_read) multi_info_read =
      library.symbol<decltype(&::curl_multi_info_read)>("curl_multi_info_read");
  decltype(&::curl_multi_cleanup) multi_cleanup = library.symbol<decltype(&::curl_multi_cleanup)>("curl_multi_cleanup");
};

}  // namespace igpu::exporter
