// SPDX-License-Identifier: Apache-2.0
// sandbox_probe LAYERS ATTEMPT FOLDER
// Puts layers of the program's own sandbox on itself, makes one of support/sandbox_attempts.h, and prints what the
// kernel said: "done" or the name of the error. LAYERS: none, seccomp, landlock, all, or flights (what the process that
// writes flights into FOLDER has on). FOLDER may be read; FOLDER/file exists. Not shipped.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/landlock.h"
#include "sandbox/privileges.h"
#include "sandbox/sandbox.h"
#include "sandbox/seccomp_filter.h"
#include "support/sandbox_attempts.h"

namespace {

using igpu::exporter::FileAccess;
using igpu::exporter::LayerOutcome;

LayerOutcome put_on(std::string_view layers, const std::string& folder, int opened) {
  const FileAccess access{{folder, "/proc"}, {}, {}};
  static std::vector<igpu::UniqueFd> held;
  if (layers == "none") return LayerOutcome::holds();
  if (layers == "all") {
    igpu::exporter::Sandbox sandbox({true, {}, access, access, {}, {}, false});
    sandbox.protect_memory();
    sandbox.drop_privileges();
    sandbox.confine_clients();
    sandbox.filter_system_calls();
    return sandbox.outcome(igpu::exporter::Layer::seccomp);
  }
  if (const LayerOutcome outcome = igpu::exporter::forbid_new_privileges(); !outcome.on) return outcome;
  if (layers == "flights") {
    const FileAccess writable{{}, {}, {}, {}, {folder}};
    if (const LayerOutcome outcome = igpu::exporter::confine_files(writable, held);
        !outcome.on && igpu::exporter::landlock_version() != 0)
      return outcome;
    return igpu::exporter::filter_calls_of_flight_writer(STDERR_FILENO, opened);
  }
  return layers == "seccomp" ? igpu::exporter::filter_calls_of_process({})
                             : igpu::exporter::confine_files(access, held);
}

// Not exit(): what a sanitizer does at the end is not what is tried here.
[[noreturn]] void end(const std::string& text, int status) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
  ::_exit(status);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) end("usage: sandbox_probe LAYERS ATTEMPT FOLDER", 2);
  const igpu::test::Attempt* const attempt = igpu::test::find_attempt(argv[2]);
  if (attempt == nullptr) end("unknown attempt", 2);
  const std::string maps = "/proc/" + std::to_string(::getppid()) + "/maps";
  const igpu::test::Surroundings surroundings =
      igpu::test::prepare_surroundings(argv[3], "/etc/hostname", maps.c_str());
  if (const LayerOutcome outcome = put_on(argv[1], argv[3], surroundings.opened); !outcome.on)
    end("not on: " + outcome.detail, 3);
  errno = 0;
  if (attempt->succeeds(surroundings)) end("done", 0);
  const char* const name = ::strerrorname_np(errno);
  end(name == nullptr ? "?" : name, 0);
}
