#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code that must not compile does not, for the reason that is named; the same code without the mistake does.

usage: must_not_compile.py COMPILER REPOSITORY_ROOT [FLAG...]
"""
import pathlib
import subprocess
import sys
import tempfile

PRELUDE = """
#include "server/serve_stages.h"
#include "metric/sample_sink.h"
using namespace igpu;
using namespace igpu::exporter;
constexpr Metric<Seconds, 2> kBusy{"x_busy_seconds_total", Kind::counter, "Busy.", {"device", "engine"}};
constexpr std::array kBounds{0.1, 1.0};
constexpr HistogramMetric<Seconds, 1, 2> kWait{"x_wait_seconds", "Wait.", {"device"}, kBounds};
[[maybe_unused]] void write(SampleSink& out);
"""

# name, code, what the compiler must complain about (None: it must compile)
CASES = [
    ("a whole sample", 'void f(SampleSink& out) { out.add(kBusy, {"a", "b"}, Seconds{1}); }', None),
    ("a label too few", 'void f(SampleSink& out) { out.add(kBusy, {"a"}, Seconds{1}); }', "add"),
    ("a label too many", 'void f(SampleSink& out) { out.add(kBusy, {"a", "b", "c"}, Seconds{1}); }', "add"),
    ("watts for seconds", 'void f(SampleSink& out) { out.add(kBusy, {"a", "b"}, Watts{1}); }', "add"),
    ("a bare number", 'void f(SampleSink& out) { out.add(kBusy, {"a", "b"}, 1.0); }', "add"),
    ("a gauge with its unit", 'constexpr Metric<Watts, 1> k{"x_power_watts", Kind::gauge, "P.", {"device"}};', None),
    ("a name without its unit", 'constexpr Metric<Watts, 1> k{"x_power", Kind::gauge, "P.", {"device"}};', "check"),
    ("an extreme of a window", 'constexpr Metric<Watts, 1> k{"x_power_watts_max", Kind::gauge, "P.", {"device"}};', None),
    ("an extreme without its unit", 'constexpr Metric<Watts, 1> k{"x_power_max", Kind::gauge, "P.", {"device"}};', "check"),
    ("a counter without _total", 'constexpr Metric<Joules, 1> k{"x_energy_joules", Kind::counter, "E.", {"device"}};', "check"),
    ("a gauge with _total", 'constexpr Metric<Count, 1> k{"x_total", Kind::gauge, "E.", {"device"}};', "check"),
    ("an info without _info", 'constexpr Metric<Flag, 1> k{"x", Kind::info, "I.", {"device"}};', "check"),
    ("help that is no sentence", 'constexpr Metric<Flag, 1> k{"x", Kind::gauge, "no dot", {"device"}};', "check"),
    ("a histogram", "void f(SampleSink& out, std::array<std::uint64_t, 3>& c) { out.add(kWait, {\"a\"}, {c, Seconds{1}}); }", None),
    ("a bucket too few", "void f(SampleSink& out, std::array<std::uint64_t, 2>& c) { out.add(kWait, {\"a\"}, {c, Seconds{1}}); }", "add"),
    ("a sum in bytes", "void f(SampleSink& out, std::array<std::uint64_t, 3>& c) { out.add(kWait, {\"a\"}, {c, Bytes{1}}); }", "add"),
    ("a single value for a histogram", 'void f(SampleSink& out) { out.add(kWait, {"a"}, Seconds{1}); }', "add"),
    ("a histogram without bounds", 'constexpr Metric<Seconds, 1> k{"x_seconds", Kind::histogram, "W.", {"device"}};', "check"),
    ("a histogram with _sum", 'constexpr HistogramMetric<Count, 1, 2> k{"x_sum", "W.", {"device"}, kBounds};', "suffix"),
    ("a histogram without its unit", 'constexpr HistogramMetric<Seconds, 1, 2> k{"x", "W.", {"device"}, kBounds};', "unit"),
    ("a histogram with a label le", 'constexpr HistogramMetric<Count, 1, 2> k{"x", "W.", {"le"}, kBounds};', "le is"),
    ("bounds that descend", 'constexpr std::array kDown{2.0, 1.0}; constexpr HistogramMetric<Count, 1, 2> k{"x", "W.", {"d"}, kDown};', "ascend"),
    ("units that are mixed", "bool f(Joules a, Watts b) { return a < b; }", "operator<"),
    ("units that are compared", "bool f(Joules a, Joules b) { return a < b; }", None),
    ("the stages of serve in their order", "int f(const Options& o) { return serve_clients(confine(open_with_privileges(read_secrets(start_helpers(o))))); }", None),
    ("secrets that are read before helpers are started", "auto f(const Options& o) { return read_secrets(o); }", "StartedHelpers"),
    ("a sandbox before all is opened", "auto f(Passed<ReadSecrets> s) { return confine(std::move(s)); }", "OpenedEarly"),
    ("clients without a sandbox", "int f(Passed<OpenedEarly> s) { return serve_clients(std::move(s)); }", "Confined"),
    ("helpers that stay for a second start", "void f(const Options& o) { auto h = start_helpers(o); read_secrets(h); }", "deleted"),
]


def main():
    compiler, root, flags = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    failures = 0
    standard = [compiler, "-std=c++20", "-w", f"-I{root}/collectors/include", f"-I{root}/collectors", f"-I{root}/exporter", *flags]
    work = tempfile.TemporaryDirectory()
    header = pathlib.Path(work.name) / "prelude.h"
    header.write_text(PRELUDE)
    subprocess.run([*standard, "-x", "c++-header", header, "-o", f"{header}.gch"], check=True)  # 65,000 lines, once; clang reads it, too
    for name, code, complaint in CASES:
        result = subprocess.run(
            [*standard, "-fsyntax-only", "-include", header, "-x", "c++", "-"], input=code, text=True, capture_output=True)
        compiled = result.returncode == 0
        right = compiled if complaint is None else not compiled and complaint in result.stderr
        print(f"{'ok' if right else 'FAIL'}  {name}: {'compiles' if compiled else 'does not compile'}")
        if not right:
            failures += 1
            print(result.stderr[:1500])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
