// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "view/format/text_writer.h"

TEST_SUITE_BEGIN("negotiation");

using namespace igpu::exporter;

namespace {

const std::string kText = "text/plain; version=0.0.4; charset=utf-8";
const std::string kOpen = "application/openmetrics-text; version=1.0.0; charset=utf-8";

std::string answer(std::string_view accept) {
  const FormatChoice choice = choose_format(accept);
  CHECK((choice.format == Format::openmetrics) == choice.content_type.starts_with("application/openmetrics-text"));
  return std::string(choice.content_type);
}

}  // namespace

TEST_CASE("the Prometheus text format is the default") {
  CHECK(answer("") == kText);
  CHECK(answer("*/*") == kText);
  CHECK(answer("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8") == kText);
  CHECK(answer("text/plain") == kText);
  CHECK(answer("application/json") == kText);  // never 406
  CHECK(answer("application/*") == kText);
}

TEST_CASE("Prometheus 2.42 gets OpenMetrics") {
  CHECK(answer("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
               "text/plain;version=0.0.4;q=0.5,*/*;q=0.1") == kOpen);
}

TEST_CASE("Prometheus 3 gets OpenMetrics with an escaping scheme") {
  CHECK(answer("application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
               "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
               "text/plain;version=0.0.4;q=0.3,*/*;q=0.2") == kOpen + "; escaping=underscores");
  CHECK(answer("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,"
               "application/openmetrics-text;version=1.0.0;escaping=underscores;q=0.5,"
               "text/plain;version=0.0.4;q=0.2,*/*;q=0.1") == kOpen + "; escaping=underscores");
  // Only the Prometheus text with an escaping: 0.0.4 carries none.
  CHECK(answer("text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3") == kText);
}

TEST_CASE("the larger quality wins, and OpenMetrics wins a tie") {
  CHECK(answer("application/openmetrics-text;q=0.5,text/plain;q=0.5") == kOpen);
  CHECK(answer("application/openmetrics-text;q=0.4,text/plain;q=0.5") == kText);
  CHECK(answer("application/openmetrics-text;q=0.4,text/*;q=0.5") == kText);
  CHECK(answer("application/openmetrics-text;q=0.4,*/*") == kText);
  CHECK(answer("text/plain;q=0.1,application/openmetrics-text;version=0.0.1;q=0.2") == kOpen);
}

TEST_CASE("quality 0 means not acceptable") {
  CHECK(answer("application/openmetrics-text;q=0") == kText);
  CHECK(answer("application/openmetrics-text;q=0.000,text/plain;q=0") == kText);
}

TEST_CASE("an unsupported version of OpenMetrics is ignored") {
  CHECK(answer("application/openmetrics-text;version=2.0.0") == kText);
  CHECK(
      answer("application/openmetrics-text;version=2.0.0,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1") ==
      kOpen);
}

TEST_CASE("order, blanks, quotes and case of parameters do not matter") {
  CHECK(answer("Application/OpenMetrics-Text ; CHARSET=utf-8 ;\tVersion=\"1.0.0\" ; Q=\"0.9\" , text/plain;q=0.5") ==
        kOpen);
  CHECK(answer("application/openmetrics-text;q=0.3;version=1.0.0 ,text/plain; q=0.4") == kText);
  CHECK(answer("application/openmetrics-text;note=\"a,b;q=0\";version=1.0.0") == kOpen);
  CHECK(answer("application/openmetrics-text;note=\"a\\\",text/plain\";version=1.0.0") == kOpen);
}

TEST_CASE("invalid items are skipped") {
  CHECK(answer("application/openmetrics-text;q=high") == kText);
  CHECK(answer("application/openmetrics-text;q=-1") == kText);
  CHECK(answer("application/openmetrics-text;q=2") == kText);
  CHECK(answer("application/openmetrics-text;q=nan") == kText);
  CHECK(answer("application/openmetrics-text;q=") == kText);
  CHECK(answer(",,;;q=1,\"") == kText);
  CHECK(answer("application/openmetrics-text;x=\"unfinished") == kOpen);
  CHECK(answer(std::string(100000, ',')) == kText);
  CHECK(answer(std::string(100000, ';')) == kText);
  CHECK(answer(std::string(99999, '\\') + "\"") == kText);
}

TEST_CASE("gzip is used when it is accepted") {
  CHECK(accepts_gzip("gzip"));
  CHECK(accepts_gzip("deflate, gzip;q=1.0, *;q=0.5"));
  CHECK(accepts_gzip("GZIP ; q=0.001"));
  CHECK(accepts_gzip("x-gzip"));
  CHECK(accepts_gzip("*"));
  CHECK(accepts_gzip("identity;q=0.5, gzip;q=1"));
  CHECK(accepts_gzip("identity;q=0, *;q=0.1"));
}

TEST_CASE("gzip is not used if it is excluded, not listed, or of lower quality than identity") {
  CHECK_FALSE(accepts_gzip(""));
  CHECK_FALSE(accepts_gzip("deflate, br"));
  CHECK_FALSE(accepts_gzip("gzip;q=0"));
  CHECK_FALSE(accepts_gzip("gzip;q=0, *"));
  CHECK_FALSE(accepts_gzip("*;q=0"));
  CHECK_FALSE(accepts_gzip("identity;q=1, gzip;q=0.5"));
  CHECK_FALSE(accepts_gzip("notgzip, gzipped"));
  CHECK_FALSE(accepts_gzip("deflate;x=\",gzip\""));
}

TEST_SUITE_END();
