# SPDX-License-Identifier: Apache-2.0
"""The completions of bash, zsh and fish: what each shell offers, interactively, for the same lines."""

import os
import pty
import re
import select
import shlex
import shutil
import tempfile
import time

from checks import BINARY, NAME, SOURCE, equal, finish, output, run

DEADLINE = 120  # seconds, for one answer

# Each shell writes what it offers to $FOUND, ends it with the line END, and waits for the next line.
BASH = r"""
PS1='ready> '
bind 'set completion-query-items 0'
bind 'set page-completions off'
bind '"\C-t": insert-completions'
unset HISTFILE
. $COMPLETIONS/intel-gpu-exporter.bash
intel-gpu-exporter() { printf '%s\n' "$@" END >> $FOUND; }
"""
ZSH = r"""
PS1='ready> '
fpath=($COMPLETIONS $fpath)
autoload -Uz compinit
compinit -u -D
compadd() {
  local -a matched
  if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
    builtin compadd -A matched "$@"
    print -rl -- $matched >> $FOUND
  fi
  builtin compadd "$@"
}
finished() { print END >> $FOUND; compstate[list]= compstate[insert]= }
offer() { comppostfuncs=(finished); _main_complete }
zle -C offer complete-word offer
bindkey '^T' offer
"""


def write(path, text=""):
    with open(path, "w") as f:
        f.write(text)


class Terminal:
    """An interactive shell in a pseudo-terminal, in a folder with a few files."""

    def __init__(self, folder, command, **environment):
        self.found = f"{folder}/found"
        write(self.found)
        child, self.fd = pty.fork()
        if child == 0:
            os.chdir(f"{folder}/files")
            os.execvpe(command[0], command, {"HOME": folder, "FOUND": self.found, "COMPLETIONS": f"{folder}/described",
                                             "PATH": os.environ["PATH"], "TERM": "dumb", "LC_ALL": "C.UTF-8", **environment})
        self.child = child
        self.shown = b""
        self.wait(lambda: b"ready> " in self.shown)

    def wait(self, done):
        end = time.monotonic() + DEADLINE
        while not done():
            if time.monotonic() > end:
                raise SystemExit(f"FAIL: no answer; the terminal shows {self.shown[-2000:]!r}")
            if select.select([self.fd], [], [], 0.02)[0]:
                self.shown += os.read(self.fd, 65536)

    def ask(self, keys):
        write(self.found)

        def answer():
            with open(self.found) as f:
                return f.read().splitlines()
        os.write(self.fd, keys.encode())
        self.wait(lambda: answer()[-1:] == ["END"])
        return answer()[:-1]

    def close(self):
        os.close(self.fd)
        os.waitpid(self.child, 0)


class Bash(Terminal):
    def __init__(self, folder):
        write(f"{folder}/bashrc", BASH)
        super().__init__(folder, ["bash", "--noprofile", "--rcfile", f"{folder}/bashrc", "-i"])

    def offers(self, line):
        """Inserts all candidates, quoted as the shell quotes them, and runs the line: a function prints its arguments."""
        words = shlex.split(line)[1:]
        typed = 0 if line.endswith(" ") else 1
        arguments = self.ask(line + "\x14\n")
        return [] if arguments == words else arguments[len(words) - typed:]


class Zsh(Terminal):
    def __init__(self, folder):
        write(f"{folder}/.zshrc", ZSH)
        super().__init__(folder, ["zsh", "-d", "-i"], ZDOTDIR=folder)

    def offers(self, line):
        return [word.replace("\\", "") for word in self.ask("\x15" + line + "\x14")]


class Fish:
    def __init__(self, folder):
        self.folder = folder

    def offers(self, line):
        shown = output("fish", "--no-config", "-c", f"source {self.folder}/described/{NAME}.fish; complete -C $argv[1]", "--", line,
                       env={**os.environ, "HOME": self.folder, "LC_ALL": "C.UTF-8"}, cwd=f"{self.folder}/files")
        return [candidate.split("\t")[0] for candidate in shown.splitlines()]

    def close(self):
        pass


def flags_of(*command):
    """The flags in a help text, switches in both forms."""
    block = output(BINARY, "help", *command, "--help-all").partition("\nFlags:\n")[2].split("\n\n")[0]
    found = set()
    for no, name in re.findall(r"^  (?:-h, )?--(\[no-\])?([a-z0-9._-]+)", block, re.M):
        found |= {f"--{name}"} | ({f"--no-{name}"} if no else set())
    return found


def cases():
    """[(line, what exactly is offered)]"""
    profiles = set(re.findall(r"^ +([a-z0-9-]+): ", output(BINARY, "--help-all").partition("--simulate PROFILE")[2].partition("--scrape")[0], re.M))
    commands = set(re.findall(r"^  ([a-z_-]+) ", output(BINARY, "--help-all").partition("\nCommands:\n")[2].split("\n\n")[0], re.M))
    files = {"a b.tar.zst", "sub", "web.yml"}
    return [
        ("", commands), ("help ", commands), ("help st", {"stats"}), ("health", {"healthcheck"}),
        ("--", flags_of()), ("stats --", flags_of("stats")), ("top --", flags_of("top")), ("serve --", flags_of("serve")),
        ("--js", set()), ("doctor --js", {"--json"}), ("--simulate rack doctor --js", {"--json"}),
        ("stats --format ", {"table", "json", "csv", "prometheus", "intel_gpu_top", "nvtop", "waybar"}), ("stats --format=j", {"json"}),
        ("intel_gpu_top -o ", files),
        ("stats --format json --inter", {"--interval"}), ("--log.level ", {"debug", "info", "warn", "error"}),
        ("--log.format=", {"logfmt", "json"}), ("--collector.engines.xe-source ", {"auto", "pmu", "fdinfo"}),
        ("query --", flags_of("query")), ("query --fie", {"--fields"}), ("query -f we", {"web.yml"}), ("stats -o we", {"web.yml"}),
        ("query --format ", {"csv", "json"}), ("stats --count ", set()), ("--simulate ", profiles | {"capture:"}), ("--simulate capture:", files),
        ("--simulate=capture:w", {"web.yml"}), ("--simulate rack sta", {"stats"}),
        ("--workload.rules ", files), ("--web.config.file=we", {"web.yml"}), ("--path.sysfs ", {"sub"}), ("capture ", files),
        ("--simulate rack capture a", {"a b.tar.zst"}), ("--web.listen-address :9999 sta", {"stats"}),
        # the value of a flag is no command
        ("--workload.rules stats --form", set()), ("--workload.rules trace doctor --js", {"--json"}),
        ("trace ", {"record", "report", "timeline", "export"}), ("trace report ", files), ("trace record --ma", {"--max-rate", "--max-size"}),
        ("trace record -o ", files), ("trace record -o x --class vid", {"video", "video_enhance"}),
        ("trace report --histogram ", {"queue", "run", "total"}),
        ("trace report --by=", {"engine", "context", "process", "workload"}), ("trace record -- mkfif", {"mkfifo"}),
        ("level-zero ", {"run", "list", "report", "csv", "clean", "install"}), ("level-zero install ", {"sub"}),
        ("level-zero run --csv x -- mkfif", {"mkfifo"}), ("level-zero run -- cat we", {"web.yml"})]


def main():
    folder = tempfile.mkdtemp()
    try:
        os.makedirs(f"{folder}/files/sub")
        for name in ("a b.tar.zst", "web.yml"):
            write(f"{folder}/files/{name}")
        run(f"{SOURCE}/deploy/package/describe", BINARY, f"{folder}/described")
        for shell_type in (Bash, Zsh, Fish):
            shell = shell_type(folder)
            for line, expected in cases():
                offered = shell.offers(f"{NAME} {line}")
                # A shell may repeat what is typed up to "=" or ":", and ends a folder with "/".
                typed = re.match(r".*[=:]|", line.split(" ")[-1])[0]
                offered = {word.removeprefix(typed).removeprefix(typed.partition("=")[2]).rstrip("/") for word in offered} - {""}
                equal(f"{type(shell).__name__.lower()} offers for {line!r}", sorted(offered), sorted(expected))
            shell.close()
    finally:
        shutil.rmtree(folder)
    finish()


main()
