// SPDX-License-Identifier: Apache-2.0
// without_calls CALL=ERROR,... PROGRAM ARGUMENT...
// Becomes PROGRAM on a kernel that answers these system calls with these errors (ENOSYS, EPERM), as an older kernel or
// a container's profile does. Not shipped.
#include <seccomp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ALLOW);
  std::string_view rest = argv[1];
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(word.size() == rest.size() ? rest.size() : word.size() + 1);
    const std::string call(word.substr(0, word.find('=')));
    const int number = ::seccomp_syscall_resolve_name(call.c_str());
    const std::uint16_t error = word.ends_with("=ENOSYS") ? ENOSYS : EPERM;
    if (number == __NR_SCMP_ERROR || ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(error), number, 0) != 0) {
      std::fprintf(stderr, "no such call: %s\n", call.c_str());
      return 2;
    }
  }
  // With CAP_SYS_ADMIN this works without no_new_privs, which is what is tried here.
  (void)::seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, ::geteuid() == 0 ? 0 : 1);
  if (::seccomp_load(filter) != 0) {
    std::fprintf(stderr, "the filter was not put on\n");
    return 2;
  }
  ::execvp(argv[2], argv + 2);
  return 127;
}
