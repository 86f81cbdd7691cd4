// SPDX-License-Identifier: Apache-2.0
// sandbox_probe LAYERS ATTEMPT FOLDER
// Puts layers of the program's own sandbox on itself, makes one of support/sandbox_attempts.h, and prints what the
// kernel said: "done" or the name of the error. LAYERS: none, seccomp, landlock, all, flights (what the process that
// writes flights into FOLDER has on), push (what the process has on that talks to a receiver at the port that listens
// here), or the filter of another helper: opener, resolver, resolver_of_mdns. opener_in_sysfs: the opener's filter in
// the folder where it runs. FOLDER may be read; FOLDER/file exists. Not shipped.
#include <arpa/inet.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "server/sandbox/privileges.h"
#include "server/sandbox/sandbox.h"
#include "support/sandbox_attempts.h"

namespace {

using igpu::exporter::FileAccess;
using igpu::exporter::LayerOutcome;

LayerOutcome put_on(std::string_view layers, const std::string& folder, const igpu::test::Surroundings& surroundings) {
  const FileAccess access{{folder, "/proc"}, {}, {}};
  static std::vector<igpu::UniqueFd> held;
  if (layers == "none") return LayerOutcome::holds();
  if (layers == "all") {
    igpu::exporter::Sandbox sandbox({true, {}, access, access, {}, {}, {}, false});
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
    return igpu::exporter::filter_calls_of_flight_writer(STDERR_FILENO, surroundings.opened);
  }
  if (layers == "opener_in_sysfs" && !igpu::exporter::leave_files("/sys")) return LayerOutcome::missing("chroot", "");
  if (layers.starts_with("opener")) return igpu::exporter::filter_calls_of_event_opener(STDERR_FILENO);
  if (layers == "push") {
    const FileAccess reachable{{folder}, {}, {}, {ntohs(surroundings.address.sin_port)}};
    if (const LayerOutcome outcome = igpu::exporter::confine_files(reachable, held);
        !outcome.on && igpu::exporter::landlock_version() != 0)
      return outcome;
    return igpu::exporter::filter_calls_of_push_client();
  }
  if (layers.starts_with("resolver")) return igpu::exporter::filter_calls_of_resolver(layers == "resolver_of_mdns");
  return layers == "seccomp" ? igpu::exporter::filter_calls_of_process({})
                             : igpu::exporter::confine_files(access, held);
}

// Not exit(): what a sanitizer does at the end is not what is tried here.
[[noreturn]] void end(const std::string& text, int status) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
  ::_exit(status);
}

std::string name_of(int error) {
  if (error == 0) return "done";
  const char* const name = ::strerrorname_np(error);
  return name == nullptr ? "?" : name;
}

// The event opener's filter lets nothing be printed: another process prints what this one ends with.
void print_for_child() {
  const pid_t child = ::fork();
  if (child == 0) return;
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) end("no child", 3);
  if (WIFSIGNALED(status)) ::_exit(128 + WTERMSIG(status));
  end(name_of(WEXITSTATUS(status)), 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) end("usage: sandbox_probe LAYERS ATTEMPT FOLDER", 2);
  const igpu::test::Attempt* const attempt = igpu::test::find_attempt(argv[2]);
  if (attempt == nullptr) end("unknown attempt", 2);
  const std::string maps = "/proc/" + std::to_string(::getppid()) + "/maps";
  const igpu::test::Surroundings surroundings =
      igpu::test::prepare_surroundings(argv[3], "/etc/hostname", maps.c_str());
  const bool can_print = !std::string_view(argv[1]).starts_with("opener");
  if (!can_print) print_for_child();
  if (const LayerOutcome outcome = put_on(argv[1], argv[3], surroundings); !outcome.on)
    end("not on: " + outcome.detail, 3);
  errno = 0;
  const int error = attempt->succeeds(surroundings) ? 0 : errno;
  if (!can_print) ::_exit(error);
  end(name_of(error), 0);
}
