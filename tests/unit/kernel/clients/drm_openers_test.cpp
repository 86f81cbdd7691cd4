// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "kernel/clients/client_walk.h"
#include "support/machine_tree.h"
#include "support/proc_tree.h"

using namespace igpu;
using namespace igpu::test;

namespace {

using Pids = std::vector<std::uint32_t>;

// As Linux 6.1 prints it.
const std::string kTitle = "             command  tgid dev master a   uid      magic\n";
const std::string kXorg = "                Xorg   812   0   y    y     0          0\n";
const std::string kFfmpeg = "              ffmpeg  4711 128   n    n  1000          0\n";

}  // namespace

TEST_SUITE_BEGIN("drm openers");

TEST_CASE("each line has the PID of the process that opened a node") {
  CHECK(parse_drm_openers(kTitle) == Pids{});
  CHECK(parse_drm_openers(kTitle + kXorg + kFfmpeg + kFfmpeg) == Pids{812, 4711, 4711});
  // Linux 6.15 adds columns.
  CHECK(parse_drm_openers("             command  tgid dev master a   uid      magic"
                          "                                                             name                   id\n"
                          "              ffmpeg  4711 128   n    n  1000          0"
                          "                                                          <unset>                    7\n") ==
        Pids{4711});
  CHECK(parse_drm_openers("     a name of blank 1234567   0   n    n     0          0\n") == Pids{1234567});
}

TEST_CASE("text of another format has no PID, or one that is only a hint") {
  for (const char* text :
       {"", "\n\n", "no column", "                Xorg", "                Xorg ", "                Xorg  y   0   y",
        "                Xorg    -1   0   y", "                Xorg 99999999999   0   y",
        "           <unknown>     0   0   n    n     0          0\n"})
    CHECK(parse_drm_openers(text) == Pids{});
  // A name with a line end.
  CHECK(parse_drm_openers("                evil\n name   812   0   y    y     0          0\n" + kFfmpeg).back() ==
        4711);
}

TEST_CASE("a process is named when the number of files that it opened changes") {
  ProcTree tree;
  DrmOpeners openers;
  const auto changed = [&] { return openers.changed(tree.machine().sys); };
  CHECK(changed() == Pids{});
  tree.tree.write("sys/kernel/debug/dri/0/clients", kTitle + kXorg + kFfmpeg);
  tree.tree.write("sys/kernel/debug/dri/128/clients", kTitle + kXorg + kFfmpeg);
  CHECK(changed() == Pids{812, 4711});
  CHECK(changed() == Pids{});
  tree.tree.write("sys/kernel/debug/dri/1/clients", kTitle + kFfmpeg);  // another GPU
  CHECK(changed() == Pids{4711});
  tree.tree.write("sys/kernel/debug/dri/0/clients", kTitle + kFfmpeg);
  CHECK(changed() == Pids{812});
  tree.tree.remove("sys/kernel/debug/dri/1");
  CHECK(changed() == Pids{4711});
  tree.tree.remove("sys/kernel/debug");
  CHECK(changed() == Pids{4711});
  CHECK(changed() == Pids{});
}

TEST_SUITE_END();
