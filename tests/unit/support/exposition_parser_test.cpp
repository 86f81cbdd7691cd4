// SPDX-License-Identifier: Apache-2.0
#include "support/exposition_parser.h"

#include <doctest/doctest.h>

#include <string>

TEST_SUITE_BEGIN("exposition_parser");

using namespace igpu::test;

namespace {

const std::string kGoodText =
    "# HELP a_total Things \\\\ and \\n \"quotes\".\n"
    "# TYPE a_total counter\n"
    "a_total{device=\"0000:00:02.0\",name=\"a\\\\b\\\"c\\nd\"} 3\n"
    "a_total 1.5e-07\n"
    "# HELP b B.\n"
    "# TYPE b gauge\n"
    "b -2 1700000000000\n"
    "b{x=\"y\"} +Inf\n";

const std::string kGoodOpenMetrics =
    "# TYPE a_joules counter\n"
    "# UNIT a_joules joules\n"
    "# HELP a_joules Energy \\\"quoted\\\".\n"
    "a_joules_total{device=\"0000:00:02.0\"} 3\n"
    "# TYPE b info\n"
    "# HELP b B.\n"
    "b_info{name=\"x\"} 1\n"
    "# TYPE c_ratio gauge\n"
    "# UNIT c_ratio ratio\n"
    "# HELP c_ratio C.\n"
    "c_ratio 0.25 1700000000.5\n"
    "# EOF\n";

struct Defect {
  const char* name;
  std::string page;
  std::size_t line;
  const char* message;  // part of it
};

template <class Parse>
void check_defects(std::initializer_list<Defect> defects, Parse parse) {
  for (const Defect& defect : defects) {
    INFO(std::string(defect.name));
    try {
      parse(defect.page);
      FAIL_CHECK("the page was accepted");
    } catch (const ExpositionError& error) {
      CHECK(error.line() == defect.line);
      CHECK_MESSAGE(std::string(error.what()).find(defect.message) != std::string::npos, std::string(error.what()));
    }
  }
}

std::string text_gauge(const std::string& samples) { return "# HELP g G.\n# TYPE g gauge\n" + samples; }
std::string text_counter(const std::string& samples) { return "# HELP c_total C.\n# TYPE c_total counter\n" + samples; }
std::string open_gauge(const std::string& samples) { return "# TYPE g gauge\n# HELP g G.\n" + samples + "# EOF\n"; }
std::string open_counter(const std::string& samples) { return "# TYPE c counter\n# HELP c C.\n" + samples + "# EOF\n"; }

}  // namespace

TEST_CASE("a good page of the Prometheus text format comes out as families with samples") {
  const Exposition page = parse_prometheus_text(kGoodText);
  REQUIRE(page.families.size() == 2);
  CHECK(page.families[0].name == "a_total");
  CHECK(page.families[0].type == "counter");
  CHECK(page.families[0].help == "Things \\ and \n \"quotes\".");
  REQUIRE(page.families[0].samples.size() == 2);
  CHECK(page.families[0].samples[0].label("name") == "a\\b\"c\nd");
  CHECK(page.families[0].samples[1].value == 1.5e-07);
  CHECK(page.families[0].samples[1].value_text == "1.5e-07");
  CHECK(page.families[1].samples[0].timestamp == 1700000000000.0);
  CHECK(page.value("a_total", {{"device", "0000:00:02.0"}}) == 3.0);
  CHECK_FALSE(page.value("a_total", {{"device", "another"}}));
  CHECK_THROWS_AS((void)page.value("a_total"), std::logic_error);
  CHECK(page.find("b").size() == 2);
}

TEST_CASE("a good OpenMetrics page comes out as families with samples") {
  const Exposition page = parse_openmetrics(kGoodOpenMetrics);
  REQUIRE(page.families.size() == 3);
  CHECK(page.families[0].unit == "joules");
  CHECK(page.families[0].help == "Energy \"quoted\".");
  CHECK(page.value("a_joules_total") == 3.0);
  CHECK(page.value("b_info", {{"name", "x"}}) == 1.0);
  CHECK(page.families[2].samples[0].timestamp == 1700000000.5);
}

TEST_CASE("a page without any series is a page") {
  CHECK(parse_prometheus_text("").families.empty());
  CHECK(parse_openmetrics("# EOF\n").families.empty());
}

TEST_CASE("histograms and summaries are read by the names of their parts") {
  CHECK(parse_prometheus_text("# HELP h H.\n# TYPE h histogram\nh_bucket{le=\"+Inf\"} 2\nh_sum 3\nh_count 2\n")
            .find("h_count")
            .size() == 1);
  CHECK(parse_openmetrics("# TYPE s summary\n# HELP s S.\ns{quantile=\"0.5\"} 2\ns_sum 3\ns_count 2\n# EOF\n")
            .find("s")
            .size() == 1);
  CHECK(parse_openmetrics("# TYPE s stateset\n# HELP s S.\ns{s=\"on\"} 1\ns{s=\"off\"} 0\n# EOF\n").find("s").size() ==
        2);
}

TEST_CASE("every defect of a Prometheus text page is named with its line") {
  check_defects(
      {
          {"no final newline", text_gauge("g 1"), 3, "newline"},
          {"blank line", text_gauge("g 1\n\n"), 4, "blank line"},
          {"comment", "# hello\n" + text_gauge("g 1\n"), 1, "comment"},
          {"UNIT is not of this format", "# UNIT g seconds\n", 1, "comment"},
          {"sample without TYPE", "g 1\n", 1, "without TYPE"},
          {"HELP only", "# HELP g G.\ng 1\n", 2, "without TYPE"},
          {"TYPE only", "# TYPE g gauge\ng 1\n", 3, "no HELP"},
          {"no samples", text_gauge(""), 3, "no samples"},
          {"unknown type", "# HELP g G.\n# TYPE g info\ng 1\n", 2, "unknown type"},
          {"two TYPE lines", "# HELP g G.\n# TYPE g gauge\n# TYPE g gauge\ng 1\n", 3, "second TYPE"},
          {"two HELP lines", "# HELP g G.\n# HELP g G.\n# TYPE g gauge\ng 1\n", 2, "second HELP"},
          {"HELP after the samples", "# TYPE g gauge\ng 1\n# HELP g G.\n", 2 + 1, "after samples"},
          {"interleaved metadata", text_gauge("g 1\n") + text_counter("c_total 1\n") + text_gauge("g{a=\"b\"} 1\n"), 7,
           "interleaved"},
          {"interleaved sample", text_gauge("g 1\n") + text_counter("c_total 1\ng{a=\"b\"} 1\n"), 7,
           "apart from its family"},
          {"same series twice", text_gauge("g{a=\"b\",c=\"d\"} 1\ng{a=\"b\",c=\"d\"} 2\n"), 4,
           "series of line 3 again"},
          {"label twice", text_gauge("g{a=\"b\",a=\"c\"} 1\n"), 3, "label a twice"},
          {"label order changes", text_gauge("g{a=\"b\",c=\"d\"} 1\ng{c=\"e\",a=\"f\"} 2\n"), 4, "label order"},
          {"empty label value", text_gauge("g{a=\"\"} 1\n"), 3, "empty value"},
          {"reserved label", text_gauge("g{__name__=\"x\"} 1\n"), 3, "reserved"},
          {"bad label name", text_gauge("g{0a=\"x\"} 1\n"), 3, "bad label name"},
          {"empty braces", text_gauge("g{} 1\n"), 3, "bad label name"},
          {"trailing comma", text_gauge("g{a=\"b\",} 1\n"), 3, "bad label name"},
          {"blank inside the braces", text_gauge("g{a=\"b\", c=\"d\"} 1\n"), 3, "bad label name"},
          {"bad name", "# HELP 0g G.\n", 1, "bad family name"},
          {"colon in a name", "# HELP a:b G.\n", 1, "after the family's name"},
          {"bad escape", text_gauge("g{a=\"\\t\"} 1\n"), 3, "bad escape"},
          {"quote escaped in HELP", "# HELP g \\\"G\\\".\n", 1, "bad escape"},
          {"label value without end", text_gauge("g{a=\"b} 1\n"), 3, "without end"},
          {"bad UTF-8", text_gauge("g{a=\"\xff\"} 1\n"), 3, "UTF-8"},
          {"two blanks", text_gauge("g  1\n"), 3, "word"},
          {"blank at the end", text_gauge("g 1 \n"), 3, "word"},
          {"no value", text_gauge("g\n"), 3, "before the value"},
          {"hexadecimal", text_gauge("g 0x1p3\n"), 3, "bad number"},
          {"Nan of prometheus-cpp", text_gauge("g Nan\n"), 3, "bad number"},
          {"inf", text_gauge("g inf\n"), 3, "bad number"},
          {"exponent without digits", text_gauge("g 1e\n"), 3, "bad number"},
          {"thousands", text_gauge("g 1_000\n"), 3, "bad number"},
          {"carriage return", text_gauge("g 1\r\n"), 3, "bad number"},
          {"timestamp with a point", text_gauge("g 1 1.5\n"), 3, "timestamp"},
          {"third column", text_gauge("g 1 2 3\n"), 3, "after the sample"},
          {"negative counter", text_counter("c_total -1\n"), 3, "never negative"},
          {"counter that is NaN", text_counter("c_total NaN\n"), 3, "never negative"},
          {"counter without _total", "# HELP c C.\n# TYPE c counter\n", 2, "ends in _total"},
          {"gauge with _total", "# HELP g_total G.\n# TYPE g_total gauge\n", 2, "only a counter"},
          {"info that is not 1", "# HELP x_info X.\n# TYPE x_info gauge\nx_info{a=\"b\"} 0\n", 3, "value is 1"},
      },
      parse_prometheus_text);
}

TEST_CASE("every defect of an OpenMetrics page is named with its line") {
  check_defects(
      {
          {"no EOF", "# TYPE g gauge\n# HELP g G.\ng 1\n", 4, "EOF is missing"},
          {"empty page", "", 1, "EOF is missing"},
          {"EOF without newline", "# EOF", 1, "newline"},
          {"text after EOF", open_gauge("g 1\n") + "g 2\n", 5, "after # EOF"},
          {"counter sample without _total", open_counter("c 1\n"), 3, "wrong suffix"},
          {"counter family with _total", "# TYPE c_total counter\n# HELP c_total C.\n", 1, "has no _total"},
          {"info family with _info", "# TYPE x_info info\n# HELP x_info X.\n", 1, "has no _info"},
          {"info sample without _info", "# TYPE x info\n# HELP x X.\nx 1\n# EOF\n", 3, "wrong suffix"},
          {"gauge sample with a suffix", open_gauge("g_total 1\n"), 3, "without TYPE or of a wrong suffix"},
          {"untyped", "# TYPE g untyped\n# HELP g G.\n", 1, "unknown type"},
          {"unit that is not the suffix", "# TYPE g_seconds gauge\n# UNIT g_seconds bytes\n", 2,
           "not the end of the name"},
          {"unit alone", "# TYPE seconds gauge\n# UNIT seconds seconds\n", 2, "not the end of the name"},
          {"unit on an info", "# TYPE g_seconds info\n# UNIT g_seconds seconds\n", 2, "UNIT on an info"},
          {"HELP before TYPE", "# HELP g G.\n# TYPE g gauge\ng 1\n# EOF\n", 2, "order"},
          {"UNIT after HELP", "# TYPE g_seconds gauge\n# HELP g_seconds G.\n# UNIT g_seconds seconds\n", 3, "order"},
          {"quote in HELP", "# TYPE g gauge\n# HELP g \"G\".\n", 2, "quote in HELP"},
          {"clash of families", "# TYPE c counter\n# HELP c C.\nc_total 1\n# TYPE c_created gauge\n", 4, "clashes"},
          {"info that is not 1", "# TYPE x info\n# HELP x X.\nx_info 2\n# EOF\n", 3, "value is 1"},
          {"stateset with 2", "# TYPE s stateset\n# HELP s S.\ns{s=\"a\"} 2\n# EOF\n", 3, "0 and 1"},
          {"stateset without its label", "# TYPE s stateset\n# HELP s S.\ns{t=\"a\"} 1\n# EOF\n", 3, "own name"},
          {"exemplar", open_counter("c_total 1 # {} 1\n"), 3, "exemplar"},
          {"blank line", open_gauge("g 1\n\n"), 4, "blank line"},
          {"comment", open_gauge("g 1\n# hello\n"), 4, "comment"},
          {"same series twice", open_gauge("g 1\ng 1\n"), 4, "again"},
          {"negative counter", open_counter("c_total -0.5\n"), 3, "never negative"},
          {"buckets that fall",
           "# TYPE h histogram\n# HELP h H.\nh_bucket{le=\"1.0\"} 2\nh_bucket{le=\"+Inf\"} 1\nh_sum 0\nh_count 1\n# "
           "EOF\n",
           4, "holds less"},
          {"buckets in wrong order",
           "# TYPE h histogram\n# HELP h H.\nh_bucket{le=\"2.0\"} 1\nh_bucket{le=\"1.0\"} 1\n# EOF\n", 4, "ascend"},
          {"histogram without +Inf",
           "# TYPE h histogram\n# HELP h H.\nh_bucket{le=\"1.0\"} 1\nh_sum 0\nh_count 1\n# EOF\n", 4, "apart"},
          {"count of a histogram",
           "# TYPE h histogram\n# HELP h H.\nh_bucket{le=\"+Inf\"} 1\nh_sum 0\nh_count 2\n# EOF\n", 5, "count is not"},
          {"histogram without count", "# TYPE h histogram\n# HELP h H.\nh_bucket{le=\"+Inf\"} 1\nh_sum 0\n# EOF\n", 6,
           "without its count"},
          {"bound that looks like an integer", "# TYPE h histogram\n# HELP h H.\nh_bucket{le=\"1\"} 1\n# EOF\n", 3,
           "canonical"},
          {"bucket without le", "# TYPE h histogram\n# HELP h H.\nh_bucket 1\n# EOF\n", 3, "le"},
          {"no samples", open_gauge(""), 4, "no samples"},
      },
      parse_openmetrics);
}

TEST_SUITE_END();
