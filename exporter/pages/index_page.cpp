// SPDX-License-Identifier: Apache-2.0
#include "pages/index_page.h"

#include <algorithm>
#include <utility>

#include "report/fixes.h"
#include "report/gpu_summary.h"
#include "self/build_info.h"
#include "text/ascii.h"
#include "text/html.h"

namespace igpu::exporter {
namespace {

constexpr std::string_view kStyle =
    "body{font-family:system-ui,sans-serif;margin:2rem auto;max-width:64rem;padding:0 1rem;line-height:1.5}"
    "table{border-collapse:collapse;margin:.5rem 0}td,th{border-bottom:1px solid #ccc;padding:.2rem .8rem .2rem 0;"
    "text-align:left;vertical-align:top}td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:pre}"
    "code{background:#f2f2f2;padding:.1rem .3rem}.fix{border-left:4px solid #c60;padding-left:.8rem;margin:.8rem 0}"
    ".ok{border-left:4px solid #3a3;padding-left:.8rem}.gpus{display:flex;flex-wrap:wrap;gap:0 3rem}h3{margin-bottom:0}"
    "p.about{margin:0;color:#777}summary{cursor:pointer}"
    "@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}code{background:#333}a{color:#8bf}}";

constexpr std::size_t kMostProcesses = 10;

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
  Html& number(std::string_view content) { return markup("<td class=\"n\">").text(content).markup("</td>"); }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

void add_fixes(Html& html, std::span<const Gpu> gpus, std::span<const Finding> findings) {
  const std::vector<Fix> fixes = fixes_for(findings);
  html.markup("<h2>What to do</h2>\n");
  if (gpus.empty()) {
    html.markup(
        "<p class=\"fix\">No Intel GPU bound to i915 or xe is here now. One that comes later is found without a "
        "restart; if one should be here, run <code>intel-gpu-exporter doctor</code>.</p>\n");
  } else if (fixes.empty()) {
    const bool all = std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
      return !finding.available && finding.feature != nullptr && finding.feature->optional;
    });
    html.markup("<p class=\"ok\">Nothing: all that these GPUs and this kernel offer can be read")
        .markup(all ? "" : ", except what is optional")
        .markup(".</p>\n");
  }
  for (const Fix& fix : fixes) {
    html.markup("<div class=\"fix\">");
    if (fix.hint.empty()) {
      html.markup("Nothing can be done here about this:");
    } else {
      html.markup("<code>").text(fix.hint).markup("</code>");
    }
    for (const std::string& cause : fix.causes) {
      if (!cause.empty()) html.markup("<br>Why: ").text(cause);
    }
    html.markup("<ul>");
    for (const Finding* finding : fix.findings) {
      html.markup("<li>").text(finding->feature->name);
      if (!finding->device.empty()) html.markup(" of ").text(finding->device);
      html.markup(" (")
          .text(to_string(finding->absent.reason))
          .markup("): ")
          .text(finding->feature->meaning)
          .markup("</li>");
    }
    html.markup("</ul></div>\n");
  }
}

void add_gpu(Html& html, const Gpu& gpu, const GpuSummary& summary, const std::string& trouble) {
  html.markup("<section><h3>")
      .text(gpu.name.empty() ? "(unknown name)" : gpu.name)
      .markup("</h3>\n<p class=\"about\">");
  html.text(gpu.address).markup(" · ").text(to_string(gpu.kind)).markup(" · ").text(to_string(gpu.driver));
  for (const std::string& node : {gpu.card, gpu.render_node}) {
    if (!node.empty()) html.markup(" · ").text(node);
  }
  html.markup("</p>\n");
  if (!trouble.empty()) html.markup("<p class=\"fix\">").text(trouble).markup("</p>\n");
  if (summary.suspended) html.markup("<p>Suspended; what would wake it is not read.</p>\n");
  html.markup("<table>\n");
  for (const SummarySection& section : summary.sections) {
    std::string_view title = section.title;
    for (const SummaryRow& row : section.rows) {
      html.markup("<tr><th>").text(std::exchange(title, "")).markup("</th>").cell(row.name);
      html.number(trimmed(row.value)).markup("</tr>\n");
    }
  }
  html.markup("</table>\n");
  if (!summary.processes.empty()) {
    html.markup("<table><tr><th>PID</th><th>Process</th><th>Memory</th><th>Engines</th></tr>\n");
    for (std::size_t i = 0; i < std::min(summary.processes.size(), kMostProcesses); ++i) {
      const SummaryProcess& process = summary.processes[i];
      std::string classes;
      for (const std::string& busy : process.classes) classes += (classes.empty() ? "" : ", ") + busy;
      html.markup("<tr>").cell(process.pid).cell(process.comm).number(trimmed(human_bytes(process.resident_bytes)));
      html.cell(classes).markup("</tr>\n");
    }
    html.markup("</table>\n");
    if (summary.processes.size() > kMostProcesses) {
      html.markup("<p>and ").text(std::to_string(summary.processes.size() - kMostProcesses)).markup(" more</p>\n");
    }
  }
  html.markup("</section>\n");
}

// Expected states: not on this hardware, asleep, turned off.
void add_not_here(Html& html, std::span<const Finding> findings) {
  const auto is_normal = [](const Finding& finding) {
    return !finding.available && finding.feature != nullptr && !is_missing(finding);
  };
  const auto count = std::count_if(findings.begin(), findings.end(), is_normal);
  if (count == 0) return;
  html.markup("<details><summary>Not here, and why (").text(std::to_string(count)).markup(")</summary>\n<table>");
  html.markup("<tr><th>Device</th><th>Feature</th><th>Reason</th></tr>\n");
  for (const Finding& finding : findings) {
    if (!is_normal(finding)) continue;
    html.markup("<tr>").cell(finding.device.empty() ? "(machine)" : std::string_view(finding.device));
    html.cell(finding.feature->name).cell(to_string(finding.absent.reason)).markup("</tr>\n");
  }
  html.markup("</table></details>\n");
}

}  // namespace

std::string index_page(std::string_view telemetry_path, std::span<const Gpu> gpus, std::span<const Finding> findings,
                       const PageView& page, Seconds now) {
  const BuildInfo build = build_info();
  Html html;
  html.markup("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>").text(kProgramName);
  html.markup("</title>\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<style>")
      .markup(kStyle);
  html.markup("</style></head>\n<body>\n<h1>").text(kProgramName).markup("</h1>\n<p><a href=\"").text(telemetry_path);
  html.markup("\">Metrics</a> · <a href=\"/-/healthy\">Health</a> · <a href=\"/-/ready\">Readiness</a></p>\n");
  add_fixes(html, gpus, findings);
  if (!gpus.empty()) {
    html.markup("<h2>Now</h2>\n<div class=\"gpus\">\n");
    const HostModel host = model_of(page);
    for (const Gpu& gpu : gpus) {
      const GpuModel* const model = host.gpu(gpu.address);
      add_gpu(html, gpu, model != nullptr ? summarize(*model) : GpuSummary(),
              model != nullptr ? snapshot::trouble_of(*model, now) : "");
    }
    html.markup("</div>\n");
  }
  add_not_here(html, findings);
  html.markup("<p class=\"about\">Version ").text(build.version).markup(" (revision ").text(build.revision);
  html.markup(")</p>\n</body></html>\n");
  return html.take();
}

}  // namespace igpu::exporter
