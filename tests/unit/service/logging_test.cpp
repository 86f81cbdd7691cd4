// SPDX-License-Identifier: Apache-2.0
#include "service/logging.h"

#include <doctest/doctest.h>

using namespace igpu;
using exporter::format_log_line;
using exporter::LogFormat;

TEST_SUITE_BEGIN("logging");

TEST_CASE("logfmt quotes what needs it") {
  CHECK(format_log_line(LogFormat::logfmt, "T", LogLevel::warn, "no GPU",
                        {{"device", "0000:03:00.0"}, {"cure", "a=b \"c\""}, {"empty", ""}}) ==
        "ts=T level=warn msg=\"no GPU\" device=0000:03:00.0 cure=\"a=b \\\"c\\\"\" empty=\"\"\n");
  CHECK(format_log_line(LogFormat::logfmt, "T", LogLevel::info, "listening", {}) == "ts=T level=info msg=listening\n");
}

TEST_CASE("json is json") {
  CHECK(format_log_line(LogFormat::json, "T", LogLevel::error, "it \"broke\"", {{"path", "a\\b\tc\x01"}}) ==
        "{\"ts\":\"T\",\"level\":\"error\",\"msg\":\"it \\\"broke\\\"\",\"path\":\"a\\\\b\\tc\\u0001\"}\n");
}

TEST_CASE("a hostile value cannot forge a line") {
  for (const LogFormat format : {LogFormat::logfmt, LogFormat::json}) {
    const std::string line =
        format_log_line(format, "T", LogLevel::info, "x", {{"comm", "a\nts=T level=error msg=forged\r\x1b[2J"}});
    CHECK(line.find('\n') == line.size() - 1);
    CHECK(line.find('\r') == std::string::npos);
    CHECK(line.find('\x1b') == std::string::npos);
  }
}

TEST_SUITE_END();
