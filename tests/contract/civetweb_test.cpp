// SPDX-License-Identifier: Apache-2.0
//
// What the program relies on CivetWeb for, as it is compiled here: its request parser, its decoding of URLs and its
// status texts. The server around them is not in the program.
#include <civetweb_parser.h>
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "support/paths.h"
#include "support/run_program.h"

namespace {

using igpu::test::run_program;

struct Parsed {
  std::string head;
  mg_request_info info{};
  int size = 0;

  explicit Parsed(std::string text) : head(std::move(text)) {
    size = igpu_civetweb_parse_request(head.data(), static_cast<int>(head.size()), &info);
  }
};

}  // namespace

TEST_SUITE_BEGIN("civetweb");

TEST_CASE("CivetWeb's parser finds method, target, version and headers in a head") {
  const std::string text = "GET /metrics?x=%41 HTTP/1.1\r\nHost: gpu\r\nAccept:  a/b \r\nEmpty:\r\n\r\n";
  const Parsed request(text);
  REQUIRE(request.size == static_cast<int>(text.size()));
  CHECK(std::string_view(request.info.request_method) == "GET");
  CHECK(std::string_view(request.info.request_uri) == "/metrics?x=%41");
  CHECK(std::string_view(request.info.http_version) == "1.1");
  REQUIRE(request.info.num_headers == 3);
  CHECK(std::string_view(request.info.http_headers[1].name) == "Accept");
  CHECK(std::string_view(request.info.http_headers[1].value) == "a/b ");
  CHECK(std::string_view(request.info.http_headers[2].value).empty());
}

TEST_CASE("CivetWeb's parser skips empty lines before a request and takes lines without carriage returns") {
  CHECK(Parsed("\r\n\r\nGET / HTTP/1.0\r\n\r\n").size > 0);
  CHECK(Parsed("GET / HTTP/1.0\nHost: x\n\n").size > 0);
}

TEST_CASE("CivetWeb's parser refuses what is no request") {
  for (const char* text :
       {"garbage\r\n\r\n", "GET\r\n\r\n", "GET /x\r\n\r\n", "GET /x HTTP/1.1", "FOO /x HTTP/1.1\r\n\r\n",
        "GET /x FTP/1.1\r\n\r\n", "G\x01T /x HTTP/1.1\r\n\r\n", "\r\n\r\n", ""}) {
    CAPTURE(text);
    CHECK(Parsed(text).size <= 0);
  }
}

TEST_CASE("CivetWeb's parser takes as many headers as the front lets through, and no more") {
  std::string text = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 70; ++i) text += "X-" + std::to_string(i) + ": y\r\n";
  const Parsed request(text + "\r\n");
  CHECK(request.info.num_headers == 64);  // FrontOptions::headers
}

TEST_CASE("CivetWeb decodes escapes, and keeps broken ones") {
  const auto decoded = [](std::string_view text) {
    std::array<char, 64> out{};
    const int size = mg_url_decode(text.data(), static_cast<int>(text.size()), out.data(), out.size(), 0);
    return std::string(out.data(), static_cast<std::size_t>(size));
  };
  CHECK(decoded("%41+%7e") == "A+~");
  CHECK(decoded("%4") == "%4");
  CHECK(decoded("%zz%") == "%zz%");
}

TEST_CASE("CivetWeb knows the texts of all statuses that are answered") {
  for (const int status : {200, 400, 401, 404, 405, 408, 413, 414, 429, 431, 500, 501, 503, 505}) {
    CAPTURE(status);
    const std::string text = mg_get_response_code_text(nullptr, status);
    CHECK_FALSE(text.empty());
    CHECK(text.find("Error") == (status == 500 ? text.size() - 5 : std::string::npos));  // no text for a whole class
  }
}

TEST_CASE("CivetWeb's server is not in the program, nor what its known holes need") {
  const std::string symbols = run_program({"nm", igpu::test::exporter_binary()}).output;
  REQUIRE(symbols.find("igpu_civetweb_parse_request") != std::string::npos);
  for (const char* absent : {"mg_start", "mg_stop", "worker_thread", "process_new_connection", "handle_request",
                             "mg_write", "set_ports_option",
                             "mg_handle_form_request",    // CVE-2025-9648, CVE-2020-27304: form bodies and uploads
                             "handle_directory_request",  // CVE-2025-55763: redirect to a folder
                             "print_dir_entry", "mg_store_body", "put_dir", "handle_cgi_request"}) {
    CAPTURE(absent);
    // Code only: AddressSanitizer keeps the names of functions that the linker dropped.
    CHECK(symbols.find(std::string(" T ") + absent) == std::string::npos);
    CHECK(symbols.find(std::string(" t ") + absent) == std::string::npos);
  }
}

TEST_SUITE_END();
