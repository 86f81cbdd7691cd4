#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sampler in the program: each client has its own window, the totals agree, and intervals out of range are refused.

usage: sampling.py EXPORTER_BINARY REPOSITORY_ROOT
"""
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from prometheus_client import parser as text_parser
from prometheus_client.openmetrics import parser as openmetrics_parser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import Exporter, check, fetch, finish, wait_for  # noqa: E402

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
# Profiles of i915 and of xe.
PROFILES = ["arc-a770", "battlemage"]


def samples(exporter, client="prometheus", collect="", accept="text/plain"):
    """Name and labels of every sample of a page, with its value."""
    text = fetch(exporter.url + collect, accept, {"User-Agent": client}).decode()
    parse = openmetrics_parser if accept == OPENMETRICS else text_parser
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in parse.text_string_to_metric_families(text)
        for sample in family.samples
    }


def of(page, name):
    return {key[1:]: value for key, value in page.items() if key[0] == name}


PEAKS = ["intel_gpu_engine_busy_ratio_max", "intel_gpu_power_watts_max", "intel_gpu_frequency_hertz_min"]


def has_peaks(exporter, client):
    page = samples(exporter, client)
    return all(of(page, name) for name in PEAKS) and page


def observations(page):
    return sum(of(page, "intel_gpu_engine_utilization_ratio_count").values())


def check_own_windows(exporter):
    """A client's scrape does not end the window of another one. Samples are seconds apart, so that there is usually none
    between the two scrapes after one: in a window that both clients shared the second would find nothing."""
    for client in ("first", "second"):
        samples(exporter, client)
    before = observations(samples(exporter, "counting"))
    wait_for(lambda: observations(samples(exporter, "counting")) > before, "one more sample")
    for client in ("first", "second"):
        check(of(samples(exporter, client), "intel_gpu_engine_busy_ratio_max"), f"{client}: the sample is in its own window")


def check_windows(exporter, profile):
    page = wait_for(lambda: has_peaks(exporter, "first"), f"{profile}: engines, power and clock are sampled")
    least, most = of(page, "intel_gpu_engine_busy_ratio_min"), of(page, "intel_gpu_engine_busy_ratio_max")
    check(least.keys() == most.keys(), f"{profile}: every engine with a maximum has a minimum")
    check(all(0 <= least[key] <= most[key] <= 1 for key in least), f"{profile}: minimum and maximum are ratios in order")
    without = samples(exporter, "third", "?collect[]=engines")
    check(not of(without, "intel_gpu_engine_busy_ratio_max"), f"{profile}: collect[] leaves the samples out")
    check(of(without, "intel_gpu_engine_busy_ratio"), f"{profile}: collect[] keeps what it names")


def check_totals(exporter, profile):
    """The histograms grow, and their sums, counts and buckets agree, in both formats. (That they agree with the counter of busy
    seconds is a unit test's, with a clock that it moves: here the two are not read at the same moment.)"""
    def totals(accept):
        page = samples(exporter, accept=accept)
        return page, of(page, "intel_gpu_engine_utilization_ratio_count"), of(page, "intel_gpu_engine_utilization_ratio_sum")

    for accept in ("text/plain", OPENMETRICS):
        before = totals(accept)[1]
        def counted(accept=accept, before=before):
            page, counts, sums = totals(accept)
            return all(counts[key] > before[key] for key in before) and (page, counts, sums)
        page, counts, sums = wait_for(counted, f"{profile}: {accept}: samples are counted")
        check(counts, f"{profile}: {accept}: there is a histogram")
        check(all(0 <= sums[key] <= counts[key] for key in counts), f"{profile}: {accept}: sums of ratios")
        buckets = of(page, "intel_gpu_engine_utilization_ratio_bucket")
        ends = {tuple(label for label in key if label[0] != "le"): value
                for key, value in buckets.items() if ("le", "+Inf") in key}
        check(ends == counts, f"{profile}: {accept}: the last bucket has all observations")
    check(("intel_gpu_exporter_samples_missed_total",) in page, f"{profile}: missed samples are counted")


def check_stopped(exporter):
    """The exporter does not run for two seconds: what was due is counted as missed, and nothing is made up for it."""
    def timed():
        asked = time.monotonic()
        page = samples(exporter)
        return page, asked, time.monotonic()

    def missed(page):
        return page[("intel_gpu_exporter_samples_missed_total",)]

    before, asked_before, got_before = timed()
    exporter.process.send_signal(signal.SIGSTOP)
    time.sleep(2)
    exporter.process.send_signal(signal.SIGCONT)
    wait_for(lambda: missed(samples(exporter)) >= missed(before) + 190, "200 samples are missed")
    after, asked_after, got_after = timed()
    shortest, longest = (asked_after - got_before) / 0.01, (got_after - asked_before) / 0.01
    counts_before, counts = (of(page, "intel_gpu_engine_utilization_ratio_count") for page in (before, after))
    check(counts, "engines are sampled")
    for key in counts:
        due = counts[key] - counts_before[key] + missed(after) - missed(before)
        # A busy machine may not have woken the thread yet when a page is made: a second and a half.
        check(shortest - 150 <= due <= longest + 150, f"{key}: taken and missed samples are those that were due: {due}, {shortest:.0f} to {longest:.0f}")
    check(all(0 <= value <= 1 for name in PEAKS[:1] for value in of(after, name).values()), "a sample of two seconds is a share, too")


def check_refusals(binary):
    for value in ("0", "0s", "1ns", "9ms", "1h", "11s"):
        ended = subprocess.run([binary, "--simulate", "arc-a770", "--sample.interval", value], capture_output=True,
                               text=True, timeout=120)
        lines = ended.stderr.splitlines()
        check(ended.returncode != 0 and len(lines) == 1 and "from 10ms to 10s" in lines[0],
              f"--sample.interval {value} is refused: {ended.stderr!r}")
    for value in ("1.5", "-1", "much", "nan"):
        ended = subprocess.run([binary, "--simulate", "arc-a770", f"--sample.saturated={value}"], capture_output=True,
                               text=True, timeout=120)
        check(ended.returncode != 0 and "from 0 to 1" in ended.stderr, f"--sample.saturated {value}: {ended.stderr!r}")


def main():
    binary = sys.argv[1]
    check_refusals(binary)
    with tempfile.TemporaryDirectory() as folder:
        for profile in PROFILES:
            log = pathlib.Path(folder) / f"{profile}.log"
            with Exporter(binary, log, "--simulate", profile, "--sample.interval", "10ms") as exporter:
                check_windows(exporter, profile)
                check_totals(exporter, profile)
                check_stopped(exporter)
        log = pathlib.Path(folder) / "windows.log"
        with Exporter(binary, log, "--simulate", "arc-a770", "--sample.interval", "3s") as exporter:
            check_own_windows(exporter)
        log = pathlib.Path(folder) / "off.log"
        with Exporter(binary, log, "--simulate", "arc-a770") as exporter:
            page = samples(exporter)
            check(not [key for key in page if "samples" in key[0] or key[0].endswith("_max")], "off by default")
        log = pathlib.Path(folder) / "asleep.log"
        with Exporter(binary, log, "--simulate", "asleep", "--sample.interval", "10ms") as exporter:
            wait_for(lambda: "suspended" in str(of(samples(exporter), "intel_gpu_exporter_feature_available")),
                     "a sleeping GPU is reported as such")
            asleep = {dict(key)["device"] for key, value in
                      of(samples(exporter), "intel_gpu_runtime_suspended").items() if value == 1}
            check(asleep, "there is a sleeping GPU")
            sampled = {dict(key)["device"] for key in of(samples(exporter), "intel_gpu_engine_busy_ratio_max")}
            check(not asleep & sampled, "a sleeping GPU is not sampled")
    finish()


main()
