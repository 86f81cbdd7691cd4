// SPDX-License-Identifier: Apache-2.0
#include "support/machine_archive.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "support/paths.h"
#include "support/run_program.h"
#include "support/scratch_folder.h"

using namespace igpu::test;
namespace fs = std::filesystem;

namespace {

using Kind = ArchiveEntry::Kind;

const std::string kHeader = "# machine archive, version 1\n";

// The archive in its canonical form.
std::string rewritten(const std::string& text) { return format_archive(parse_archive(text)); }

// "" if the text is accepted.
std::string refusal(const std::string& text) {
  try {
    (void)parse_archive(kHeader + text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

std::string content_of(const MachineArchive& archive, const std::string& path) {
  for (const ArchiveEntry& entry : archive) {
    if (entry.path == path) return entry.content;
  }
  return "(missing)";
}

}  // namespace

TEST_SUITE_BEGIN("machine archive");

TEST_CASE("an archive lists directories, one-line files, longer files and links") {
  const std::string text = kHeader + R"(
./
  SOURCE.md
    |# a machine
    |
    |Its story.

sys/class/drm/
  card0 -> ../../devices/pci0000:00/0000:00:02.0/drm/card0

sys/devices/pci0000:00/0000:00:02.0/drm/card0/
  dev = 226:0
  empty
  gt_act_freq_mhz (0400) = 600
  newline =
  uevent
    |MAJOR=226
    |MINOR=0

sys/nothing_in_it/

sys/private/ (0700)
)";
  const MachineArchive archive = parse_archive(text);
  const std::string card = "sys/devices/pci0000:00/0000:00:02.0/drm/card0/";
  CHECK(content_of(archive, "SOURCE.md") == "# a machine\n\nIts story.\n");
  CHECK(content_of(archive, "sys/class/drm/card0") == "../../devices/pci0000:00/0000:00:02.0/drm/card0");
  CHECK(content_of(archive, card + "dev") == "226:0\n");
  CHECK(content_of(archive, card + "empty").empty());
  CHECK(content_of(archive, card + "newline") == "\n");
  CHECK(content_of(archive, card + "uevent") == "MAJOR=226\nMINOR=0\n");
  CHECK(format_archive(archive) == text);
}

TEST_CASE("every content survives: bytes, blanks, tabs, backslashes, missing newlines") {
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);
  const std::string contents[] = {"",
                                  "\n",
                                  "\n\n",
                                  "no newline",
                                  "two lines\nno newline",
                                  "ends with blank ",
                                  "ends with blank \n",
                                  " begins with blank\n",
                                  " ",
                                  "tab\there\n",
                                  "carriage return\r\n",
                                  "backslash at the end\\",
                                  "backslash at the end\\\n",
                                  "\\",
                                  "\\\\\n",
                                  "\\x41\n",
                                  "a\n\\\n\nb",
                                  "-> target\n",
                                  "= value\n",
                                  "    |line\n",
                                  "Größe 日本\n",
                                  "not UTF-8: \xff\xfe\n",
                                  std::string("NUL\0between\0", 12),
                                  every_byte,
                                  every_byte + "\n"};
  for (const std::string& content : contents) {
    CAPTURE(content);
    const std::string text = format_archive({{Kind::file, "sys/file", content, {}}});
    CHECK(content_of(parse_archive(text), "sys/file") == content);
    CHECK(rewritten(text) == text);
    for (const char c : text) {
      const bool readable = c == '\n' || static_cast<unsigned char>(c) >= 0x20;
      CHECK(readable);
    }
    CHECK(text.find(" \n") == std::string::npos);  // editors strip blanks there
  }
}

TEST_CASE("every name survives") {
  for (const std::string name : {"with blank", "=", "->", "(0400)", "a\\b", "tab\t", "new\nline", "\xff", "|", "..."}) {
    CAPTURE(name);
    const std::string text = format_archive({{Kind::file, "sys/" + name + "/" + name, "1\n", {}},
                                             {Kind::link, "sys/link to " + name, name, {}},
                                             {Kind::file, name, "2\n", {}}});
    const MachineArchive archive = parse_archive(text);
    CHECK(content_of(archive, "sys/" + name + "/" + name) == "1\n");
    CHECK(content_of(archive, "sys/link to " + name) == name);
    CHECK(content_of(archive, name) == "2\n");
    CHECK(rewritten(text) == text);
  }
}

TEST_CASE("entries are sorted, and directories without a need of their own are left out") {
  const std::string text = format_archive({{Kind::directory, "sys", "", {}},
                                           {Kind::directory, "sys/b", "", {}},
                                           {Kind::file, "sys/b/2", "2\n", {}},
                                           {Kind::file, "sys/b/1", "1\n", {}},
                                           {Kind::directory, "sys/a", "", {}}});
  CHECK(text == kHeader + "\nsys/a/\n\nsys/b/\n  1 = 1\n  2 = 2\n");
}

TEST_CASE("paths and links that leave the archive are refused") {
  for (const char* text : {"/etc/\n",
                           "../\n",
                           "sys/../../etc/\n",
                           "sys/./x/\n",
                           "sys//x/\n",
                           "//\n",
                           "sys/..\\x2f/\n",
                           "sys/\\x00/\n",
                           "./\n  .. = x\n",
                           "./\n  . = x\n",
                           "./\n  a/b = x\n",
                           "./\n  /etc = x\n",
                           "./\n  \\x2e\\x2e = x\n",
                           "./\n  a\\x2fb = x\n",
                           "./\n  \\x00 = x\n",
                           "./\n   = x\n",
                           "sys/\n  l -> /etc\n",
                           "sys/\n  l -> ../../etc\n",
                           "./\n  l -> ..\n",
                           "./\n  l -> sys/../../etc\n",
                           "sys/\n  l -> a/../../../etc\n",
                           "sys/\n  l -> \n",
                           "sys/\n  l -> a\\x00b\n"}) {
    CAPTURE(text);
    CHECK(refusal(text) != "");
  }
  CHECK(refusal("sys/a/b/\n  l -> ../../../sys/a\n") == "");
}

TEST_CASE("entries below a link or a file, and second entries, are refused") {
  CHECK(refusal("sys/\n  l -> b\n\nsys/l/\n  x = 1\n") == "line 5: sys/l is a link and cannot hold entries");
  CHECK(refusal("sys/\n  l -> b\n\nsys/l/deep/er/\n  x = 1\n") == "line 5: sys/l is a link and cannot hold entries");
  CHECK(refusal("sys/\n  f = 1\n\nsys/f/\n  x = 1\n") == "line 5: sys/f is a file and cannot hold entries");
  CHECK(refusal("sys/l/\n  x = 1\n\nsys/\n  l -> b\n") == "line 6: second entry of sys/l");
  CHECK(refusal("sys/\n  f = 1\n  f = 2\n") == "line 4: second entry of sys/f");
  CHECK(refusal("sys/\n  f = 1\n  f -> x\n") == "line 4: second entry of sys/f");
  CHECK(refusal("sys/\n  f = 1\n\nsys/\n  g = 2\n") == "line 5: second entry of sys");
}

TEST_CASE("what is not an archive is refused with the number of the line") {
  for (const char* text : {"", "\n", "# Archive created by ttar\n", "sys/\n  f = 1\n"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH((void)parse_archive(text), doctest::Contains("line "));
  }
  CHECK(refusal("sys/\n  f = 1") == "line 3: the archive is cut off: its last line has no newline");
  CHECK(refusal("sys\n") == "line 2: the path of a directory must end with a slash");
  CHECK(refusal("sys/\n    |text\n") == "line 3: this line belongs to no file");
  CHECK(refusal("sys/\n  f = 1\n    |text\n") == "line 4: this line belongs to no file");
  CHECK(refusal("sys/\n  f\n    |1\\\n    |2\n") == "line 5: only the last line of a file can be without a newline");
  CHECK(refusal("sys/\n  f + 1\n") == "line 3: after the name comes =, -> or nothing");
  for (const char* bad : {"\\", "\\n", "\\x1", "\\xAB", "\\xzz", "\\x"}) {
    CAPTURE(bad);
    CHECK(refusal("sys/\n  " + std::string(bad) + " = 1\n") != "");
  }
  for (const char* mode : {"(400)", "(0900)", "(04000)", "(0400", "0400", "()", "("}) {
    CAPTURE(mode);
    CHECK(refusal("sys/\n  f " + std::string(mode) + " = 1\n") != "");
  }
  CHECK(refusal("sys/\n  f (0400) -> x\n") == "line 3: a link has no mode");
}

TEST_CASE("a folder is the same after packing and unpacking") {
  const ScratchFolder scratch;
  const fs::path folder = scratch.path("machine");
  fs::create_directories(folder / "sys/empty");
  fs::create_directories(folder / "proc/1");
  unpack({{Kind::file, "proc/1/comm", "in it\n", {}},
          {Kind::file, "proc/1/fdinfo", "x", 0400},
          {Kind::link, "sys/self", "../proc/1", {}}},
         folder);
  const std::string text = format_archive(read_folder(folder));
  CHECK(text ==
        kHeader + "\nproc/1/\n  comm = in it\n  fdinfo (0400) = x\\\n\nsys/\n  self -> ../proc/1\n\nsys/empty/\n");
  unpack(parse_archive(text), scratch.path("again"));
  CHECK(format_archive(read_folder(scratch.path("again"))) == text);
  CHECK((fs::status(scratch.path("again") + "/proc/1/fdinfo").permissions() & fs::perms(0777)) == fs::perms(0400));
}

TEST_CASE("sockets, pipes and unreadable files are not packed") {
  const ScratchFolder scratch;
  REQUIRE(mkfifo(scratch.path("pipe").c_str(), 0600) == 0);
  CHECK_THROWS_WITH((void)read_folder(scratch.path("")), doctest::Contains("pipe is neither a file nor a directory"));
  CHECK_THROWS_WITH((void)read_file("/proc/self/mem"), doctest::Contains("cannot read"));
  CHECK_THROWS_WITH((void)read_file(scratch.path("missing")), doctest::Contains("cannot open"));
}

TEST_CASE("unpacking replaces files and never writes through a link that is there") {
  const ScratchFolder scratch;
  const fs::path folder = scratch.path("machine");
  fs::create_directories(folder / "sys");
  scratch.write("outside", "untouched\n");
  fs::create_symlink("../../outside", folder / "sys/file");
  fs::create_symlink("../..", folder / "sys/up");
  unpack({{Kind::file, "sys/file", "new\n", {}}}, folder);
  CHECK(read_file(scratch.path("outside")) == "untouched\n");
  CHECK(read_file(folder / "sys/file") == "new\n");
  CHECK_THROWS_WITH(unpack({{Kind::file, "sys/up/outside", "changed\n", {}}}, folder),
                    "sys/up is a link: nothing is written through it");
  CHECK(read_file(scratch.path("outside")) == "untouched\n");
}

TEST_CASE("the archives of tests/machines are as the tool writes them") {
  REQUIRE_FALSE(machine_archives().empty());
  for (const std::string& name : machine_archives()) {
    CAPTURE(name);
    const std::string text = read_file(machine_archive_path(name));
    const bool same = rewritten(text) == text;  // no dump of the whole archive
    CHECK(same);
  }
}

TEST_CASE("the tool packs and unpacks, and reports what it refuses") {
  const ScratchFolder scratch;
  const std::string archive = machine_archive_path("cometlake-i915").string();
  CHECK(run_program({test_program("machine_archive"), "unpack", archive, scratch.path("machine")}).status == 0);
  CHECK(fs::exists(scratch.path("machine") + "/sys/class/drm/card0/gt_act_freq_mhz"));
  CHECK(run_program({test_program("machine_archive"), "pack", scratch.path("machine"), scratch.path("again")}).status ==
        0);
  const bool same = read_file(scratch.path("again")) == read_file(archive);
  CHECK(same);

  const ProgramOutcome again =
      run_program({test_program("machine_archive"), "unpack", archive, scratch.path("machine")});
  CHECK(again.status == 1);
  CHECK(again.output.find("is not empty") != std::string::npos);

  const std::string hostile = scratch.write("hostile", kHeader + "sys/\n  l -> /etc\n\nsys/l/\n  x = 1\n");
  const ProgramOutcome refused =
      run_program({test_program("machine_archive"), "unpack", hostile, scratch.path("hostile_machine")});
  CHECK(refused.status == 1);
  CHECK(refused.output == "machine_archive: " + hostile + ": line 3: a link must be relative\n");
  CHECK_FALSE(fs::exists(scratch.path("hostile_machine")));

  fs::create_directories(scratch.path("links"));
  fs::create_symlink("/etc", scratch.path("links") + "/etc");
  CHECK(run_program({test_program("machine_archive"), "pack", scratch.path("links"), scratch.path("links.machine")})
            .status == 1);
  CHECK_FALSE(fs::exists(scratch.path("links.machine")));
  CHECK(run_program({test_program("machine_archive"), "pack"}).status == 2);
}

TEST_SUITE_END();
