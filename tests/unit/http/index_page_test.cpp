// SPDX-License-Identifier: Apache-2.0
#include "http/index_page.h"

#include <doctest/doctest.h>

using namespace igpu;
using exporter::html_escaped;
using exporter::index_page;

namespace {

constexpr FeatureDescriptor kPmu{"engine_pmu", "No engine time of other users' work.", Need::perf_events};

bool holds(const std::string& page, const std::string& text) { return page.find(text) != std::string::npos; }

}  // namespace

TEST_SUITE_BEGIN("index_page");

TEST_CASE("text from outside cannot become markup") {
  CHECK(html_escaped("<b a=\"1\" c='2'>&amp;") == "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
  Gpu gpu;
  gpu.address = "0000:03:00.0";
  gpu.name = "<script>alert(1)</script>";
  const Finding finding{&kPmu, "engines", gpu.address, false, {Reason::permission, 13}, "refused by <b>", "echo 0 > x"};
  const std::string page = index_page("/m\"x", {&gpu, 1}, {&finding, 1});
  CHECK_FALSE(holds(page, "<script>"));
  CHECK_FALSE(holds(page, "<b>"));
  CHECK(holds(page, "&lt;script&gt;alert(1)"));
  CHECK(holds(page, "href=\"/m&quot;x\""));
}

TEST_CASE("what is missing stands with its reason and its cure") {
  Gpu gpu;
  gpu.address = "0000:00:02.0";
  const Finding findings[] = {{&kPmu,
                               "engines",
                               gpu.address,
                               false,
                               {Reason::permission, 13},
                               "perf_event_open: EACCES",
                               "setcap cap_perfmon+ep x"}};
  const std::string page = index_page("/metrics", {&gpu, 1}, findings);
  CHECK(holds(page, "engine_pmu"));
  CHECK(holds(page, "permission"));
  CHECK(holds(page, "<code>setcap cap_perfmon+ep x</code>"));
  CHECK(holds(page, "(unknown)"));
}

TEST_CASE("a machine without a GPU says so") {
  const std::string page = index_page("/metrics", {}, {});
  CHECK(holds(page, "No Intel GPU"));
  CHECK(holds(page, "href=\"/metrics\""));
}

TEST_SUITE_END();
