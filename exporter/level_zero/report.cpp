// SPDX-License-Identifier: Apache-2.0
#include "level_zero/report.h"

#include <algorithm>
#include <functional>
#include <initializer_list>

#include "text/text.h"

namespace igpu::exporter {
namespace {

std::string seconds(double value) { return formatted("%.3f s", value); }

std::string megabytes(double value) { return formatted("%.2f MB", value); }

std::string times(const LevelZeroSite& site) {
  if (site.count == 1) return "created at " + seconds(site.first_seconds);
  return "created from " + seconds(site.first_seconds) + " to " + seconds(site.last_seconds);
}

std::string state(const LevelZeroProcess& process) {
  if (process.alive) return "running";
  return process.exited ? "exited" : "killed (or _exit, exec, crash)";
}

constexpr double kMegabyte = 1024.0 * 1024.0;
constexpr int kTableColumns = 3;
constexpr double kGap = 10;

using Value = std::function<double(const Row&)>;

Curve curve(std::string name, const Rows& rows, const Value& value) {
  Curve made{std::move(name), {}};
  made.points.reserve(rows.rows.size());
  for (const Row& row : rows.rows) made.points.emplace_back(row.milliseconds / 1000, value(row));
  return made;
}

// The resources in the list that the program used.
std::vector<Curve> resources(const Rows& rows, std::initializer_list<std::size_t> columns) {
  std::vector<Curve> curves;
  for (const std::size_t column : columns) {
    for (const Row& row : rows.rows)
      if (row.counts[column] != 0) {
        curves.push_back(curve(std::string(kResourceColumnNames[column]), rows,
                               [column](const Row& each) { return static_cast<double>(each.counts[column]); }));
        break;
      }
  }
  return curves;
}

Curve growth_over_time(const Statistics& statistics) {
  Curve total{"growth over destroys", {{0, 0}}};
  double sum = 0;
  for (const GrowthEvent& event : statistics.growth) {
    total.points.emplace_back(event.seconds, sum);
    total.points.emplace_back(event.seconds, sum += event.megabytes);
  }
  total.points.emplace_back(statistics.seconds, sum);
  return total;
}

std::vector<std::pair<std::string, double>> growth_by_function(const Statistics& statistics) {
  std::vector<std::pair<std::string, double>> bars;
  for (const FunctionUse& use : statistics.functions) {
    double sum = 0;
    for (const GrowthEvent& event : statistics.growth)
      if (event.function == use.function) sum += event.megabytes;
    if (sum != 0) bars.emplace_back(use.function, sum);
  }
  return bars;
}

std::vector<std::pair<std::string, double>> single_growths(const Statistics& statistics) {
  constexpr std::size_t kMost = 20;
  std::vector<std::pair<std::string, double>> bars;
  for (const GrowthEvent& event : statistics.growth) {
    if (bars.size() == kMost) break;
    bars.emplace_back(short_number(event.seconds) + " s " + event.function, event.megabytes);
  }
  return bars;
}

std::vector<Curve> growth_of_top_functions(const Rows& rows, const Statistics& statistics) {
  std::vector<Curve> curves;
  for (const auto& [function, total] :
       top_functions(statistics, 5, [](const FunctionUse& use) { return use.megabytes; })) {
    Curve made{function, {}};
    double sum = 0;
    for (const Row& row : rows.rows)
      if (rows.function(row) == function)
        made.points.emplace_back(row.milliseconds / 1000, sum += static_cast<double>(row.resident_change) / 1024);
    curves.push_back(std::move(made));
  }
  return curves;
}

std::vector<std::string> panels(const Rows& rows, const Statistics& statistics) {
  constexpr std::string_view kTime = "time (s)", kMb = "MB";
  const auto kilobytes = [](std::int64_t Row::*field) {
    return [field](const Row& row) { return static_cast<double>(row.*field) / 1024; };
  };
  return {
      line_chart({"Leak detection over time (a guess)", kTime, kMb}, {growth_over_time(statistics)}),
      line_chart({"Memory of the process", kTime, kMb},
                 {curve("VmRSS", rows, kilobytes(&Row::resident)), curve("VmSize", rows, kilobytes(&Row::size)),
                  curve("VmData", rows, kilobytes(&Row::data))}),
      bar_chart({"Leaks by function (a guess)", kMb, ""}, growth_by_function(statistics), "no growth over a destroy"),
      line_chart({"Change by call", kTime, kMb}, {curve("VmRSS", rows, kilobytes(&Row::resident_change)),
                                                  curve("VmSize", rows, kilobytes(&Row::size_change))}),
      line_chart({"Contexts, queues, modules, kernels", kTime, "live"}, resources(rows, {0, 1, 2, 3})),
      line_chart({"Command lists and events", kTime, "live"}, resources(rows, {5, 4, 6, 7, 8, 9})),
      line_chart(
          {"Allocated by Level Zero", kTime, kMb},
          {curve("total", rows, [](const Row& row) { return static_cast<double>(row.total_bytes) / kMegabyte; })}),
      bar_chart({"Ten most frequent functions", "calls", ""},
                top_functions(statistics, 10, [](const FunctionUse& use) { return static_cast<double>(use.calls); }),
                "none"),
      bar_chart({"Ten functions by memory", "MB in all", ""},
                top_functions(statistics, 10, [](const FunctionUse& use) { return use.megabytes; }), "no change"),
      bar_chart({"Ten functions by memory of a call", "MB on average", ""},
                top_functions(statistics, 10, [](const FunctionUse& use) { return use.mean(); }), "no change"),
      line_chart({"Memory of the top five functions, added up", kTime, kMb}, growth_of_top_functions(rows, statistics)),
      bar_chart({"Single leaks (a guess)", kMb, ""}, single_growths(statistics), "no growth over a destroy")};
}

std::string charts(const Rows& rows) {
  const std::vector<std::string> all = panels(rows, statistics_of(rows));
  const auto lines = (all.size() + kTableColumns - 1) / kTableColumns;
  std::string svg = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " +
                    short_number(kTableColumns * (kChartWidth + kGap)) + " " +
                    short_number(static_cast<double>(lines) * (kChartHeight + kGap)) + "' font-size='11'>";
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t column = i % kTableColumns;
    const std::size_t line = i / kTableColumns;
    svg += "<g transform='translate(" + short_number(static_cast<double>(column) * (kChartWidth + kGap)) + "," +
           short_number(static_cast<double>(line) * (kChartHeight + kGap)) + ")'>" + all[i] + "</g>\n";
  }
  return svg + "</svg>\n";
}

std::string cell(std::string_view text) { return "<td>" + html_escaped(text) + "</td>"; }
std::string cell(std::uint64_t number) { return "<td class='n'>" + std::to_string(number) + "</td>"; }
std::string cell(double number) { return "<td class='n'>" + short_number(number) + "</td>"; }

// Of programs that ran: how long the oldest of these resources lived.
double age(const LevelZeroProcess& process, const LevelZeroSite& site) {
  if (process.ended_realtime_ns <= process.started_realtime_ns) return 0;
  const double lived = static_cast<double>(process.ended_realtime_ns - process.started_realtime_ns) / 1e9;
  return lived > site.first_seconds ? lived - site.first_seconds : 0;
}

std::string leak_table(const LevelZeroProcess& process, Symbols& symbols) {
  if (process.live.empty()) return "<p>Nothing was left.</p>\n";
  std::string html =
      "<table><tr><th>kind<th>count<th>bytes<th>age (s)<th>first (s)<th>last (s)<th>function<th>call site</tr>\n";
  for (const LevelZeroSite& site : process.live) {
    std::string place;
    for (const LevelZeroFrame& frame : site.frames)
      place += (place.empty() ? "" : "<br>") + html_escaped(symbols.describe(frame));
    html += "<tr>" + cell(site.kind) + cell(site.count) + cell(site.bytes) + cell(age(process, site)) +
            cell(site.first_seconds) + cell(site.last_seconds) + cell(site.function) + "<td>" + place + "</td></tr>\n";
  }
  return html + "</table>\n";
}

std::string program_section(const LevelZeroProcess& process, Symbols& symbols) {
  std::string html = "<h2>" + html_escaped(process.comm) + ", pid " + std::to_string(process.pid) + "</h2>\n<p>" +
                     html_escaped(process.executable) + ": " + std::to_string(process.calls) + " calls, " +
                     std::to_string(process.errors) + " errors, " + std::to_string(process.invalid_destroys) +
                     " handles destroyed that were not live.</p>\n";
  html += "<table><tr><th>kind<th>created<th>destroyed<th>live<th>peak<th>failed<th>bytes<th>peak bytes</tr>\n";
  for (const LevelZeroKindUse& kind : process.kinds)
    html += "<tr>" + cell(kind.kind) + cell(kind.created) + cell(kind.destroyed) + cell(kind.live) +
            cell(kind.live_peak) + cell(kind.failed) + cell(kind.bytes) + cell(kind.bytes_peak) + "</tr>\n";
  const char* title = process.alive ? "Live now" : process.exited ? "Leaks" : "Live when it was killed";
  return html + "</table>\n<h3>" + title + "</h3>\n" + leak_table(process, symbols);
}

}  // namespace

bool leaks(const LevelZeroProcess& process) {
  return std::ranges::any_of(process.kinds, [](const LevelZeroKindUse& kind) { return kind.live != 0; });
}

std::string summary_text(const LevelZeroProcess& process, Symbols& symbols) {
  std::string text = clean_text(process.comm) + " (pid " + std::to_string(process.pid) + "): " + state(process) + ", " +
                     std::to_string(process.calls) + " calls, " + std::to_string(process.errors) + " errors\n";
  for (const LevelZeroKindUse& kind : process.kinds) {
    text += "  " + std::string(kind.kind) + ": " + std::to_string(kind.created) + " created, " +
            std::to_string(kind.destroyed) + " destroyed, " + std::to_string(kind.live) + " live";
    if (kind.bytes_allocated != 0)
      text += " (" + std::to_string(kind.bytes) + " bytes; at most " + std::to_string(kind.bytes_peak) + ")";
    if (kind.failed != 0) text += ", " + std::to_string(kind.failed) + " failed";
    text += '\n';
  }
  if (process.invalid_destroys != 0)
    text += "  " + std::to_string(process.invalid_destroys) + " handles destroyed that were not live\n";
  if (process.untracked != 0) text += "  " + std::to_string(process.untracked) + " resources not tracked: no memory\n";
  if (!leaks(process)) return text + "  no leaks\n";
  for (const LevelZeroSite& site : process.live) {
    text += "  LEAK " + std::to_string(site.count) + " " + std::string(site.kind);
    if (site.bytes != 0) text += ", " + std::to_string(site.bytes) + " bytes";
    text += ", " + std::string(site.function) + ", " + times(site);
    const char* before = " by ";
    for (const LevelZeroFrame& frame : site.frames) {
      text += before + clean_text(symbols.describe(frame));
      before = "\n       called by ";
    }
    text += '\n';
  }
  return text;
}

std::string report_text(const ReportInput& input, Symbols& symbols) {
  std::string text = "Level Zero: " + clean_text(input.title) + "\n\n";
  if (!input.rows.rows.empty()) {
    const Statistics statistics = statistics_of(input.rows);
    text += std::to_string(input.rows.rows.size()) + " calls in " + seconds(statistics.seconds) + ", " +
            std::to_string(input.rows.unreadable) + " lines or records unreadable\n";
    text += "most allocated at once: " + std::to_string(statistics.peak_total_bytes) + " bytes\n";
    if (input.rows.with_memory) {
      text += "most resident memory: " + std::to_string(statistics.peak_resident) + " kB\n";
      double grown = 0;
      for (const GrowthEvent& event : statistics.growth) grown += event.megabytes;
      text += "resident memory grew over " + std::to_string(statistics.growth.size()) + " destroys by " +
              megabytes(grown) + " (a guess at leaks, which other allocations mislead)\n";
    }
    text += "most frequent:\n";
    for (const auto& [function, calls] :
         top_functions(statistics, 10, [](const FunctionUse& use) { return static_cast<double>(use.calls); }))
      text += "  " + clean_text(function) + ": " + std::to_string(static_cast<std::uint64_t>(calls)) + '\n';
    text += '\n';
  }
  for (const LevelZeroProcess& process : input.processes) text += summary_text(process, symbols) + '\n';
  return text;
}

std::string report_html(const ReportInput& input, Symbols& symbols) {
  std::string html =
      "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>Level Zero: " + html_escaped(input.title) +
      "</title>\n<style>body{font:14px sans-serif;margin:1em}table{border-collapse:collapse}"
      "td,th{border:1px solid #ccc;padding:2px 8px;text-align:left;vertical-align:top}.n{text-align:right}"
      "svg{width:100%;height:auto;font-family:sans-serif}</style></head><body>\n<h1>Level Zero: " +
      html_escaped(input.title) + "</h1>\n";
  if (!input.rows.rows.empty()) html += charts(input.rows);
  for (const LevelZeroProcess& process : input.processes) html += program_section(process, symbols);
  if (!input.rows.rows.empty())
    html += "<p>" + std::to_string(input.rows.rows.size()) + " calls; " + std::to_string(input.rows.unreadable) +
            " lines or records unreadable. Panels marked as a guess show growth of resident memory over a destroy, as "
            "the validation layer does; the tables count handles.</p>\n";
  return html + "</body></html>\n";
}

}  // namespace igpu::exporter
