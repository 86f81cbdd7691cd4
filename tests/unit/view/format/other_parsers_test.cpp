// SPDX-License-Identifier: Apache-2.0
// The formats as the programs of others read them: python3, python3-prometheus-client, promtool.
#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "support/exposition_parser.h"
#include "support/run_program.h"
#include "support/sample_page.h"
#include "view/format/json_writer.h"
#include "view/format/text_writer.h"

TEST_SUITE_BEGIN("other_parsers");

using namespace igpu;
using namespace igpu::test;

namespace {

std::string written(const SampleList& list, void (*write)(const PageView&, std::string&)) {
  const SampleList* lists[] = {&list};
  std::string out;
  write(PageView(lists), out);
  return out;
}

}  // namespace

TEST_CASE("a JSON parser reads hostile labels back unchanged") {
  SampleList list;
  fill_varied_page(list);
  const std::string line = written(list, [](const PageView& page, std::string& out) {
    exporter::write_json_line(page, std::chrono::system_clock::time_point(std::chrono::milliseconds(1754000000042)),
                              out);
  });
  CHECK(line.find('\n') == line.size() - 1);
  const ProgramOutcome outcome =
      run_program({"/usr/bin/python3", "-c",
                   "import json, sys\n"
                   "page = json.loads(sys.stdin.buffer.read().decode('utf-8'))\n"
                   "gpu = page['gpus'][1]\n"
                   "comms = {p['pid']: p['comm'] for p in gpu['metrics']['test_process_memory_bytes']}\n"
                   "assert comms['1'] == 'quote\"back\\\\slash', comms\n"
                   "assert comms['2'] == 'new\\nline', comms\n"
                   "assert comms['6'] == '\\r\\t\\x01', comms\n"
                   "assert gpu['metrics']['test_engine_busy_ratio'][0]['value'] == 1 / 3\n"},
                  line);
  CHECK_MESSAGE(outcome.status == 0, outcome.output);
}

TEST_CASE("the parser of python3-prometheus-client accepts a page and finds every sample") {
  SampleList list;
  fill_varied_page(list);
  // The distribution's interpreter: another one in PATH does not have the module.
  const ProgramOutcome outcome =
      run_program({"/usr/bin/python3", "-c",
                   "import sys\n"
                   "from prometheus_client.openmetrics.parser import text_string_to_metric_families\n"
                   "text = sys.stdin.buffer.read().decode('utf-8')\n"
                   "print(sum(len(f.samples) for f in text_string_to_metric_families(text)))\n"},
                  written(list, exporter::write_openmetrics));
  CHECK_MESSAGE(outcome.status == 0, outcome.output);
  CHECK(outcome.output == std::to_string(sample_lines(list)) + "\n");
}

TEST_CASE("promtool reports no problem with a page") {
  SampleList list;
  fill_varied_page(list);
  const ProgramOutcome outcome =
      run_program({"promtool", "check", "metrics"}, written(list, exporter::write_prometheus_text));
  CHECK_MESSAGE(outcome.status == 0, outcome.output);
  CHECK(outcome.output.empty());
}

TEST_SUITE_END();
