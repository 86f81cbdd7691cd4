// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>

#include "igpu/words.h"
#include "platform/own_process.h"
#include "server/pages/embedded/doctor_js.h"
#include "server/pages/embedded/dom_js.h"
#include "server/pages/embedded/gpu_js.h"
#include "server/pages/embedded/icon_svg.h"
#include "server/pages/embedded/lines_js.h"
#include "server/pages/embedded/page_css.h"
#include "server/pages/embedded/page_js.h"
#include "server/pages/embedded/start_js.h"
#include "server/pages/embedded/users_js.h"
#include "server/pages/page_history.h"
#include "text/text.h"
#include "view/format/text_writer.h"
#include "view/report/fixes.h"
#include "view/report/gpu_summary.h"

namespace igpu::exporter {
namespace {

struct Asset {
  std::string_view name, content_type;
  std::string_view bytes;
};

template <std::size_t Size>
std::string_view text_of(const std::array<unsigned char, Size>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

constexpr std::string_view kScript = "text/javascript; charset=utf-8";
const Asset kAssets[] = {
    {"start.js", kScript, text_of(start_js)},
    {"page.js", kScript, text_of(page_js)},
    {"dom.js", kScript, text_of(dom_js)},
    {"doctor.js", kScript, text_of(doctor_js)},
    {"gpu.js", kScript, text_of(gpu_js)},
    {"lines.js", kScript, text_of(lines_js)},
    {"users.js", kScript, text_of(users_js)},
    {"page.css", "text/css; charset=utf-8", text_of(page_css)},
    {"icon.svg", "image/svg+xml", text_of(icon_svg)},
};

constexpr std::string_view kFolder = "/assets/";

// "4711/" of "/assets/4711/page.js": other bytes have another name, so a browser never asks twice for the same.
const std::string& version_folder() {
  static const std::string folder = [] {
    std::size_t all = 0;
    for (const Asset& asset : kAssets) all = all * 31 + std::hash<std::string_view>()(asset.bytes);
    return std::to_string(all) + "/";
  }();
  return folder;
}

bool is_versioned(std::string_view path) { return path.substr(kFolder.size()).starts_with(version_folder()); }

const Asset* find(std::string_view path) {
  if (!path.starts_with(kFolder)) return nullptr;
  path.remove_prefix(kFolder.size() + (is_versioned(path) ? version_folder().size() : 0));
  const auto* const found = std::ranges::find(kAssets, path, &Asset::name);
  return found == std::end(kAssets) ? nullptr : found;
}

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

// "engine_busy" as words.
std::string spoken(std::string_view name) {
  std::string words(name);
  std::ranges::replace(words, '_', ' ');
  return words;
}

// What is copied is commands only.
void add_command(Html& html, std::string_view command) {
  html.markup("<div class=\"command\"><code>").text(command).markup("</code></div>");
}

// Grants at once what the fixes below ask for.
void add_grants(Html& html, const PlaceOfGrants& place) {
  if (place.steps.empty()) return;
  html.markup("<div class=\"fix\"><strong>").text(place.title).markup("</strong>");
  for (const GrantStep& step : place.steps) {
    if (!step.text.empty()) html.markup("\n<p>").text(step.text).markup("</p>");
    if (!step.lines.empty()) add_command(html, joined(step.lines, "\n"));
  }
  html.markup("</div>\n");
}

void add_fix(Html& html, const Fix& fix) {
  html.markup("<div class=\"fix\"><strong>Missing: ").text(spoken(names_of(fix))).markup("</strong>");
  for (const std::string& cause : fix.causes) {
    if (!cause.empty()) html.markup("\n<p>Why: ").text(cause).markup("</p>");
  }
  html.markup("\n<p>").text(fix.hint.empty() ? "Nothing can be done here about this." : "Needs: " + fix.hint);
  html.markup("</p>\n<details><summary>What it brings</summary><ul>");
  for (const Finding* finding : fix.findings) {
    html.markup("\n<li>").text(finding->feature->name);
    if (!finding->device.empty()) html.markup(" of ").text(finding->device);
    html.markup(" (").text(to_string(finding->absent.reason)).markup("): ").text(finding->feature->meaning);
    html.markup("</li>");
  }
  html.markup("</ul></details></div>\n");
}

void add_fixes(Html& html, bool has_devices, const HostModel& host, std::span<const Finding> findings,
               const PlaceOfGrants& place) {
  const std::vector<Fix> fixes = fixes_for(findings);
  const bool complete = has_devices && fixes.empty() && std::ranges::all_of(host.unbound, is_guests);
  html.markup("<section id=\"todo\"><h2").markup(complete ? " hidden" : "").markup(">What to do</h2>\n");
  if (!has_devices && host.unbound.empty()) {
    html.markup("<p class=\"fix\">")
        .text(kNoGpu)
        .markup(
            ". One that comes later is found without a "
            "restart; if one should be here, run <code>intel-gpu-exporter doctor</code>.</p>\n");
  } else if (complete) {
    html.markup("<p class=\"ok\">Everything readable is being read.</p>\n");
  }
  for (const snapshot::Unbound& gpu : host.unbound) {
    const UnboundHelp help = help_for(gpu);
    html.markup("<div class=\"fix\">").text(gpu.address + " · " + name_of(gpu) + ": " + why_unbound(gpu));
    if (!help.command.empty()) add_command(html, help.command);
    if (!help.hint.empty()) html.markup("<p>").text(help.hint).markup("</p>");
    html.markup("</div>\n");
  }
  add_grants(html, place);
  for (const Fix& fix : fixes) add_fix(html, fix);
  html.markup("</section>\n");
}

void add_sections(Html& html, const std::vector<SummarySection>& sections) {
  html.markup("<table>\n");
  for (const SummarySection& section : sections) {
    std::string_view title = section.title;
    for (const SummaryRow& row : section.rows) {
      html.markup("<tr><th scope=\"row\">").text(std::exchange(title, "")).markup("</th>").cell(row.name);
      html.number(trimmed(row.value)).markup("</tr>\n");
    }
  }
  html.markup("</table>\n");
}

void add_npu(Html& html, const snapshot::Npu& npu) {
  html.markup("<section class=\"gpu\"><h3>").text(name_of(npu)).markup("</h3>\n<p class=\"about\">");
  html.text(npu.address).markup(" · NPU · intel_vpu · ").text(npu.accel).markup("</p>\n");
  if (npu.suspended.value_or(false)) html.markup("<p>Asleep. Values appear when a program wakes it.</p>\n");
  add_sections(html, sections_of(npu));
  html.markup("</section>\n");
}

void add_gpu(Html& html, const Gpu& gpu, const GpuSummary& summary, const std::string& trouble) {
  html.markup("<section class=\"gpu\"><h3>")
      .text(gpu.name.empty() ? "(unknown name)" : gpu.name)
      .markup("</h3>\n<p class=\"about\">");
  html.text(gpu.address).markup(" · ").text(to_string(gpu.kind)).markup(" · ").text(to_string(gpu.driver));
  if (gpu.virtual_function) html.markup(" · virtual function");
  for (const std::string& node : {gpu.card, gpu.render_node}) {
    if (!node.empty()) html.markup(" · ").text(node);
  }
  html.markup("</p>\n");
  if (!trouble.empty()) html.markup("<p class=\"fix\">").text(trouble).markup("</p>\n");
  if (summary.suspended) html.markup("<p>Asleep. Values appear when a program wakes it.</p>\n");
  add_sections(html, summary.sections);
  if (!summary.processes.empty()) {
    html.markup(
        "<table><caption>Processes</caption><tr><th scope=\"col\">PID</th><th scope=\"col\">Process</th>"
        "<th scope=\"col\" class=\"n\">Memory</th><th scope=\"col\">Engines</th></tr>\n");
    for (std::size_t i = 0; i < std::min(summary.processes.size(), kMostProcesses); ++i) {
      const SummaryProcess& process = summary.processes[i];
      html.markup("<tr>").cell(process.pid).cell(process.comm).number(trimmed(human_bytes(process.resident_bytes)));
      html.cell(joined(process.classes)).markup("</tr>\n");
    }
    html.markup("</table>\n");
    if (summary.processes.size() > kMostProcesses) {
      html.markup("<p>and ").text(std::to_string(summary.processes.size() - kMostProcesses)).markup(" more</p>\n");
    }
  }
  html.markup("</section>\n");
}

// Why, for people who did not ask for it.
std::string_view sentence_of(const Finding& finding) {
  switch (finding.absent.reason) {
    case Reason::hardware: return "this hardware does not have it";
    case Reason::suspended: return "the GPU is asleep; it appears when a program wakes it";
    case Reason::disabled: return "it is turned off";
    case Reason::permission: return "no right to read it";
    case Reason::kernel: break;
  }
  return "this kernel does not report it";
}

// Expected states: not on this hardware, asleep, turned off.
void add_not_here(Html& html, std::span<const Finding> findings) {
  const auto is_normal = [](const Finding& finding) {
    return !finding.available && finding.feature != nullptr && !is_missing(finding);
  };
  const auto count = std::ranges::count_if(findings, is_normal);
  if (count == 0) return;
  html.markup("<details><summary>Not here, and why (").text(std::to_string(count)).markup(")</summary>\n<table>");
  html.markup("<tr><th scope=\"col\">Device</th><th scope=\"col\">Value</th><th scope=\"col\">Why</th></tr>\n");
  for (const Finding& finding : findings) {
    if (!is_normal(finding)) continue;
    html.markup("<tr>").cell(finding.device.empty() ? "(machine)" : std::string_view(finding.device));
    html.cell(spoken(finding.feature->name)).cell(sentence_of(finding)).markup("</tr>\n");
  }
  html.markup("</table></details>\n");
}

}  // namespace

std::string Assets::folder() { return std::string(kFolder.substr(1)) + version_folder(); }

bool Assets::has(std::string_view path) { return find(path) != nullptr; }

bool Assets::answer(const HttpRequest& request, HttpResponse& response) {
  const Asset* const asset = find(request.path());
  if (asset == nullptr) return false;
  response.content_type = asset->content_type;
  response.headers.emplace_back("Vary", "Accept-Encoding");
  response.headers.emplace_back("Cache-Control",
                                is_versioned(request.path()) ? "max-age=31536000, immutable" : "no-cache");
  if (!accepts_gzip(request.list_header("Accept-Encoding"))) {
    response.body = asset->bytes;
    return true;
  }
  std::call_once(once_, [this] {
    Gzip gzip;
    std::vector<std::shared_ptr<const std::string>> compressed;
    for (const Asset& each : kAssets) {
      std::string out;
      gzip.compress(each.bytes, out);
      out.shrink_to_fit();
      compressed.push_back(std::make_shared<const std::string>(std::move(out)));
    }
    compressed_ = std::move(compressed);
  });
  response.headers.emplace_back("Content-Encoding", "gzip");
  response.shared_body = compressed_[static_cast<std::size_t>(asset - std::begin(kAssets))];
  return true;
}

std::string index_page(std::string_view telemetry_path, std::span<const Gpu> gpus, std::span<const Finding> findings,
                       const PageView& page, Seconds now, const PlaceOfGrants& place, std::string_view machine) {
  const BuildInfo build = build_info();
  const std::string title = machine.empty() ? std::string(kProgramName) : std::string(machine) + " · Intel GPUs";
  Html html;
  html.markup("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
  html.text(title).markup(
      "</title>\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"");
  const std::string assets = Assets::folder();
  html.text(assets).markup("icon.svg\">\n<link rel=\"stylesheet\" href=\"").text(assets).markup("page.css\">\n");
  for (const char* module :
       {"page", "dom", "doctor", "gpu", "lines", "users"})  // fetched at once, not one after the other
    html.markup("<link rel=\"modulepreload\" href=\"").text(assets).markup(module).markup(".js\">\n");
  html.markup("<script type=\"module\" src=\"")
      .text(assets)
      .markup("start.js\"></script></head>\n<body>\n<header><h1>");
  html.text(machine.empty() ? kProgramName : machine).markup("</h1><span id=\"summary\" class=\"dim\"></span>\n");
  html.markup("<nav aria-label=\"Pages\"><a href=\"").text(telemetry_path);
  html.markup(
      "\">Metrics</a><a href=\"api/v1/snapshot\">API</a><a href=\"api/v1/doctor\">Doctor</a></nav></header>\n<p "
      "id=\"status\" role=\"status\" hidden></p>\n<main>\n");
  const HostModel host = model_of(page);
  const bool has_devices = !gpus.empty() || !host.npus.empty();
  add_fixes(html, has_devices, host, findings, place);
  html.markup("<section id=\"still\">\n");
  if (has_devices) {
    html.markup("<h2>Now</h2>\n<div class=\"gpus\">\n");
    for (const Gpu& gpu : gpus) {
      const GpuModel* const model = host.gpu(gpu.address);
      add_gpu(html, gpu, model != nullptr ? summarize(*model) : GpuSummary(),
              model != nullptr ? snapshot::trouble_of(*model, now) : "");
    }
    for (const snapshot::Npu& npu : host.npus) add_npu(html, npu);
    html.markup("</div>\n");
  }
  html.markup("</section>\n");
  add_not_here(html, findings);
  html.markup("</main>\n<footer class=\"about\"><p>Version ").text(build.version).markup(" (revision ");
  html.text(build.revision).markup(")</p></footer>\n</body></html>\n");
  return html.take();
}

}  // namespace igpu::exporter
