// SPDX-License-Identifier: Apache-2.0
#include "http/index_page.h"

#include "self/build_info.h"

namespace igpu::exporter {
namespace {

constexpr std::string_view kStyle =
    "body{font-family:system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;line-height:1.5}"
    "table{border-collapse:collapse}td,th{border-bottom:1px solid #ccc;padding:.3rem .8rem .3rem 0;text-align:left;"
    "vertical-align:top}code{background:#f2f2f2;padding:.1rem .3rem}"
    "@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}code{background:#333}a{color:#8bf}}";

class Html {
 public:
  Html& markup(std::string_view text) {
    out_ += text;
    return *this;
  }
  Html& text(std::string_view text) {
    out_ += html_escaped(text);
    return *this;
  }
  Html& cell(std::string_view content) { return markup("<td>").text(content).markup("</td>"); }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

void add_gpus(Html& html, std::span<const Gpu> gpus) {
  html.markup("<h2>GPUs</h2>\n");
  if (gpus.empty()) {
    html.markup(
        "<p>No Intel GPU bound to i915 or xe is here now. One that comes later is found without a restart.</p>\n");
    return;
  }
  html.markup("<table><tr><th>Address</th><th>Name</th><th>Kind</th><th>Driver</th><th>Nodes</th></tr>\n");
  for (const Gpu& gpu : gpus) {
    std::string nodes = gpu.card;
    if (!nodes.empty() && !gpu.render_node.empty()) nodes += ", ";
    nodes += gpu.render_node;
    html.markup("<tr>").cell(gpu.address).cell(gpu.name.empty() ? "(unknown)" : gpu.name);
    html.cell(to_string(gpu.kind)).cell(to_string(gpu.driver)).cell(nodes).markup("</tr>\n");
  }
  html.markup("</table>\n");
}

void add_findings(Html& html, std::span<const Finding> findings) {
  html.markup("<h2>What is missing</h2>\n");
  bool any = false;
  for (const Finding& finding : findings) {
    if (finding.available || finding.feature == nullptr) continue;
    if (!any) {
      html.markup(
          "<table><tr><th>Device</th><th>Feature</th><th>Reason</th><th>What it means, what cures it</th></tr>\n");
    }
    any = true;
    html.markup("<tr>").cell(finding.device.empty() ? "(machine)" : std::string_view(finding.device));
    html.cell(finding.feature->name).cell(to_string(finding.absent.reason));
    html.markup("<td>").text(finding.feature->meaning);
    if (!finding.cause.empty()) html.markup("<br>").text(finding.cause);
    if (!finding.cure.empty()) html.markup("<br><code>").text(finding.cure).markup("</code>");
    html.markup("</td></tr>\n");
  }
  html.markup(any ? "</table>\n" : "<p>Nothing: everything that is known of these GPUs can be read.</p>\n");
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string index_page(std::string_view telemetry_path, std::span<const Gpu> gpus, std::span<const Finding> findings) {
  const BuildInfo build = build_info();
  Html html;
  html.markup("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>").text(kProgramName);
  html.markup("</title>\n<style>").markup(kStyle).markup("</style></head>\n<body>\n<h1>").text(kProgramName);
  html.markup("</h1>\n<p>Version ").text(build.version).markup(" (revision ").text(build.revision);
  html.markup(")</p>\n<ul><li><a href=\"").text(telemetry_path).markup("\">Metrics</a></li>");
  html.markup("<li><a href=\"/-/healthy\">Health</a></li><li><a href=\"/-/ready\">Readiness</a></li></ul>\n");
  add_gpus(html, gpus);
  if (!gpus.empty() || !findings.empty()) add_findings(html, findings);
  html.markup("</body></html>\n");
  return html.take();
}

}  // namespace igpu::exporter
