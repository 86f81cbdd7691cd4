// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "server/pages/page_history.h"
#include "support/sample_page.h"
#include "text/text.h"

using namespace igpu;
using exporter::html_escaped;
using exporter::index_page;
using igpu::test::add_sample;

namespace {

constexpr FeatureDescriptor kPmu{"engine_pmu", "No engine time of other users' work.", Need::perf_events};

std::string shown(std::string_view path, std::span<const Gpu> gpus, std::span<const Finding> findings,
                  const SampleList& samples = {}) {
  const SampleList* const lists[] = {&samples};
  return index_page(path, gpus, findings, PageView(lists), Seconds{1e9});
}

bool holds(const std::string& page, const std::string& text) { return page.find(text) != std::string::npos; }

constexpr FeatureDescriptor kFan{"fan", "Fan speed."};
constexpr Metric<Ratio, 5> kBusy{
    "intel_gpu_engine_busy_ratio", Kind::gauge, "Busy.", {"device", "gt", "engine", "class", "source"}};
constexpr Metric<Count, 3> kClients{"intel_gpu_process_clients", Kind::gauge, "Clients.", {"device", "pid", "comm"}};

}  // namespace

TEST_SUITE_BEGIN("index_page");

TEST_CASE("external text cannot become markup") {
  CHECK(html_escaped("<b a=\"1\" c='2'>&amp;") == "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
  Gpu gpu;
  gpu.address = "0000:03:00.0";
  gpu.name = "<script>alert(1)</script>";
  const Finding finding{&kPmu, "engines", gpu.address, false, {Reason::permission, 13}, "refused by <b>", "echo 0 > x"};
  const std::string page = shown("/m\"x", {&gpu, 1}, {&finding, 1});
  CHECK_FALSE(holds(page, "<script>"));
  CHECK_FALSE(holds(page, "<b>"));
  CHECK(holds(page, "&lt;script&gt;alert(1)"));
  CHECK(holds(page, "href=\"/m&quot;x\""));
}

TEST_CASE("a GPU that no driver has is named, with the command") {
  constexpr Metric<Flag, 4> kUnbound{
      "intel_gpu_unbound", Kind::gauge, "Unbound.", {"device", "device_id", "name", "reason"}};
  SampleList samples;
  add_sample(samples, kUnbound, {"0000:03:00.0", "0xe20b", "Arc <B580>", "no_driver"}, 1);
  Gpu other;
  other.address = "0000:00:02.0";
  const std::string page = shown("/metrics", {&other, 1}, {}, samples);
  CHECK(holds(page,
              "0000:03:00.0 · Arc &lt;B580&gt;: no driver has taken it<div class=\"command\"><code>sudo modprobe -a "
              "i915 xe</code></div><p>if they are loaded, the kernel log may say why they refuse it: sudo dmesg | "
              "grep 0000:03:00.0</p>"));
  CHECK_FALSE(holds(page, "Everything readable"));
}

TEST_CASE("what is missing has its reason and its hint") {
  Gpu gpu;
  gpu.address = "0000:00:02.0";
  const Finding findings[] = {{&kPmu,
                               "engines",
                               gpu.address,
                               false,
                               {Reason::permission, 13},
                               "perf_event_open: EACCES",
                               "setcap cap_perfmon+ep x"}};
  const std::string page = shown("/metrics", {&gpu, 1}, findings);
  CHECK(holds(page, "engine_pmu"));
  CHECK(holds(page, "permission"));
  CHECK(holds(page, "Needs: setcap cap_perfmon+ep x<"));
  CHECK(holds(page, "(unknown name)"));
}

TEST_CASE("first what to do, then current values, then what is missing") {
  Gpu gpu;
  gpu.address = "0000:03:00.0";
  gpu.name = "Arc A770";
  const Finding findings[] = {{&kPmu, "engines", gpu.address, false, {Reason::permission, 13}, "refused", "setcap x"},
                              {&kFan, "hwmon", gpu.address, false, {Reason::hardware}, "", ""}};
  SampleList samples;
  add_sample(samples, kBusy, {gpu.address, "0", "vcs0", "video", "pmu"}, 0.368);
  add_sample(samples, kClients, {gpu.address, "77", "<ffmpeg>"}, 1);
  const std::string page = shown("/metrics", {&gpu, 1}, findings, samples);
  const std::size_t fix = page.find("Needs: setcap x");
  const std::size_t now = page.find("<td>gt0 vcs0 video</td><td class=\"n\">36.8 %</td>");
  const std::size_t process = page.find("&lt;ffmpeg&gt;");
  const std::size_t lacks = page.find("<td>fan</td><td>this hardware does not have it</td>");
  CHECK(fix < now);
  CHECK(now < process);
  CHECK(process < lacks);
  CHECK(lacks != std::string::npos);
  CHECK(page.find("setcap x") == page.rfind("setcap x"));
}

TEST_CASE(
    "lines that grant all that is missing stand before the single fixes, and nothing in the page is inline code") {
  Gpu gpu;
  gpu.address = "0000:03:00.0";
  const Finding finding{&kPmu, "engines", gpu.address, false, {Reason::permission, 13}, "refused", "setcap x"};
  const SampleList samples;
  const SampleList* const lists[] = {&samples};
  const std::string page = index_page("/metrics", {&gpu, 1}, {&finding, 1}, PageView(lists), Seconds{1e9},
                                      {"systemd unit",
                                       "x.service",
                                       {{"Do <this>:", {"sudo systemctl <edit>", "second line"}}},
                                       "2 commands grant 1 value:"});
  const std::size_t grants = page.find("<code>sudo systemctl &lt;edit&gt;\nsecond line</code>");
  CHECK(grants != std::string::npos);
  CHECK(grants < page.find("Needs: setcap x"));
  CHECK(holds(page, "<strong>2 commands grant 1 value:</strong>"));
  CHECK(holds(page, "<p>Do &lt;this&gt;:</p>"));  // not copied
  for (const char* inline_code : {"<style", "style=", "<script>", "onclick", "javascript:"}) {
    CAPTURE(inline_code);
    CHECK_FALSE(holds(page, inline_code));
  }
}

TEST_CASE("the page says when there is nothing to do") {
  Gpu gpu;
  gpu.address = "0000:03:00.0";
  CHECK(holds(shown("/metrics", {&gpu, 1}, {}), "Everything readable is being read.<"));
  constexpr FeatureDescriptor kHangs{"error_state", "Hangs.", Need::root_only_file, false, {}, true};
  const Finding findings[] = {
      {&kHangs, "identity", gpu.address, false, {Reason::permission, 13}, "root's", "setcap x"}};
  CHECK(holds(shown("/metrics", {&gpu, 1}, findings), "Everything readable is being read.<"));
}

TEST_CASE("a machine without a GPU says so") {
  const std::string page = shown("/metrics", {}, {});
  CHECK(holds(page, "No Intel GPU"));
  CHECK(holds(page, "href=\"/metrics\""));
}

TEST_CASE("a hang is shown for a minute") {
  static constexpr Metric<Seconds, 2> kLast{
      "intel_gpu_last_fault_timestamp_seconds", Kind::gauge, "Time of the last fault.", {"device", "kind"}};
  Gpu gpu;
  gpu.address = "0000:03:00.0";
  SampleList samples;
  add_sample(samples, kLast, {gpu.address, "gt_reset"}, 1e9 - 30);
  CHECK(holds(shown("/metrics", {&gpu, 1}, {}, samples), "gt reset, 30 s ago"));
  samples.clear();
  add_sample(samples, kLast, {gpu.address, "gt_reset"}, 1e9 - 60);
  CHECK_FALSE(holds(shown("/metrics", {&gpu, 1}, {}, samples), "gt reset"));
}

TEST_SUITE_END();
