// SPDX-License-Identifier: Apache-2.0
// Holds the codemaps in collectors/README.md and exporter/README.md: who may include whom, and who touches the system.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "support/paths.h"

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = igpu::test::source_folder();

struct Include {
  std::string file;    // relative to the repository
  std::string room;    // the file's folder, relative to collectors/ or exporter/
  std::string target;  // as written
  bool system;         // <...>
};

std::string folder_of(const std::string& path) { return fs::path(path).parent_path().string(); }

std::vector<Include> includes_below(const fs::path& folder) {
  static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> found;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
    if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
    std::ifstream file(entry.path());
    std::smatch match;
    const std::string name = fs::relative(entry.path(), kRoot).string();
    for (std::string line; std::getline(file, line);)
      if (std::regex_search(line, match, pattern))
        found.push_back({name, folder_of(name.substr(name.find('/') + 1)), match[2], match[1] == "<"});
  }
  return found;
}

std::string first_part(const std::string& path) { return path.substr(0, path.find('/')); }

// "room": that folder; "room/": what is in it and below it.
bool is_in(const std::string& folder, const std::set<std::string>& rooms) {
  if (rooms.contains(folder)) return true;
  for (std::string part = folder; !part.empty(); part = folder_of(part))
    if (rooms.contains(part + "/")) return true;
  return false;
}

using Rules = std::map<std::string, std::set<std::string>>;  // by room: which others it may include

// The rule of a room, or of the one that it lies in; null if there is none.
const std::set<std::string>* rule_of(const std::string& room, const Rules& rules) {
  for (std::string part = room; !part.empty(); part = folder_of(part))
    if (const auto found = rules.find(part); found != rules.end()) return &found->second;
  return nullptr;
}

// All may include what is in everywhere.
void check_rooms(const fs::path& top, const Rules& rules, const std::set<std::string>& everywhere) {
  std::size_t seen = 0;
  for (const Include& include : includes_below(top)) {
    if (include.room.empty() || include.room.starts_with("level_zero/tracker"))
      continue;  // main.cpp; has its own rules
    const std::set<std::string>* const allowed = rule_of(include.room, rules);
    INFO(include.file << " includes " << include.target);
    REQUIRE(allowed != nullptr);
    const std::string target = folder_of(include.target);
    if (include.system || target.empty() || target == include.room || target.ends_with("/embedded")) continue;
    ++seen;
    CHECK((is_in(target, everywhere) || is_in(target, *allowed)));
  }
  CHECK(seen > 200);
}

}  // namespace

TEST_SUITE_BEGIN("layers");

TEST_CASE("a room of the library includes only the rooms that the codemap allows") {
  check_rooms("collectors",
              {{"include", {}},
               {"c", {}},
               {"base", {}},
               {"machine", {"machine/"}},
               {"kernel/device", {"machine/"}},
               {"kernel/sysfs", {"machine/", "kernel/device"}},
               {"kernel/pmu", {"machine/", "kernel/device", "kernel/sysfs"}},
               {"kernel/windows", {"machine/", "kernel/device", "kernel/sysfs"}},
               {"kernel/clients", {"machine/", "kernel/device", "kernel/sysfs", "kernel/windows"}},
               {"kernel/faults", {"machine/", "kernel/clients", "kernel/device", "kernel/sysfs"}},
               {"kernel/npu", {"machine/", "kernel/sysfs"}},
               {"kernel/sriov", {"machine/", "kernel/clients", "kernel/device", "kernel/pmu", "kernel/sysfs"}},
               {"trace", {"machine/", "kernel/"}},
               {"level_zero", {"machine/", "level_zero/tracker"}},
               {"metric", {}},
               {"model", {}},
               {"collector", {"collector/", "kernel/", "level_zero", "machine/", "metric", "trace"}},
               {"collector/sampling", {"kernel/", "machine/", "trace"}},
               {"run", {"collector/", "fake/", "kernel/", "machine/", "metric"}},
               {"gpu", {"collector/", "kernel/device", "machine/", "model", "run"}},
               {"fake", {"kernel/device", "machine/"}},
               {"fake/capture", {"kernel/device", "kernel/faults", "machine/"}}},
              {"igpu", "base"});
  for (const Include& include : includes_below("collectors/include")) CHECK(folder_of(include.target) != "base");
}

TEST_CASE("the tracker includes nothing of the library and nothing of the C++ runtime") {
  const std::set<std::string> header_only = {"cstddef", "cstdint", "new"};
  std::size_t seen = 0;
  for (const Include& include : includes_below("collectors/level_zero/tracker")) {
    ++seen;
    INFO(include.file << " includes " << include.target);
    if (include.system)
      CHECK((include.target.find(".h") != std::string::npos || header_only.contains(include.target)));
    else
      CHECK(folder_of(include.target) == "level_zero/tracker");
  }
  CHECK(seen > 20);
}

// Files of the kernel, but no other way into it.
TEST_CASE("only machine/ touches the operating system") {
  const std::set<std::string> os = {"fcntl.h", "unistd.h",  "dirent.h",   "poll.h",     "signal.h", "csignal", "time.h",
                                    "sched.h", "pthread.h", "dlfcn.h",    "sys",        "linux",    "netinet", "arpa",
                                    "net",     "windows.h", "winsock2.h", "filesystem", "fstream"};
  static const std::regex door(
      R"(::(pthread_\w+|clock_gettime|getenv|secure_getenv|open|openat|read|ioctl|syscall|kill|getpid)\()");
  std::size_t seen = 0;
  for (const Include& include : includes_below("collectors")) {
    if (include.file.starts_with("collectors/machine/")) continue;
    if (include.file.starts_with("collectors/level_zero/tracker/"))
      continue;  // runs in other programs, without this library
    ++seen;
    INFO(include.file << " includes <" << include.target << ">");
    if (include.system) CHECK_FALSE(os.contains(first_part(include.target)));
  }
  CHECK(seen > 500);
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "collectors")) {
    const std::string name = fs::relative(entry.path(), kRoot).string();
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
    if (name.starts_with("collectors/machine/") || name.starts_with("collectors/level_zero/tracker/")) continue;
    std::ifstream file(entry.path());
    std::smatch match;
    for (std::string line; std::getline(file, line);) {
      const std::string code = line.substr(0, line.find("//"));
      INFO(name << ": " << line);
      // A method, such as Gpu::open(), is none: nothing stands before a global function's colons.
      const bool calls = std::regex_search(code, match, door);
      CHECK_FALSE((calls && (match.position() == 0 ||
                             std::string(" (!=-&|{").find(code[match.position() - 1]) != std::string::npos)));
    }
  }
}

// What lies in collector/shared/ belongs to no topic, and a topic's facts are for others (collector/facts.h).
TEST_CASE("no topic's collector includes another's, only the facts that it reports") {
  std::size_t seen = 0;
  for (const Include& include : includes_below("collectors/collector")) {
    const std::string target = folder_of(include.target);
    if (include.system || first_part(target) != "collector" || target == include.room) continue;
    if (include.file.ends_with("/registration.cpp")) continue;
    ++seen;
    INFO(include.file << " includes " << include.target);
    const bool facts = include.target.ends_with("_facts.h");
    const bool samples = include.room == "collector/samples" && target == "collector/sampling";
    CHECK((target == "collector" || target == "collector/shared" || facts || samples));
    if (include.room == "collector/shared") CHECK(target == "collector");
  }
  CHECK(seen > 30);
}

TEST_CASE("what runs collectors knows their interface and common options, and no topic") {
  for (const Include& include : includes_below("collectors/run")) {
    if (include.system || first_part(include.target) != "collector") continue;
    INFO(include.file << " includes " << include.target);
    CHECK((include.target == "collector/collector.h" || include.target == "collector/shared/shared_options.h"));
  }
}

// include/igpu names its files for what the rooms implement.
TEST_CASE("no two rooms have files of one name") {
  std::map<std::string, std::set<std::string>> rooms;  // by the name of a file
  for (const char* top : {"collectors", "exporter"}) {
    for (const auto& file : fs::recursive_directory_iterator(kRoot / top)) {
      const std::string folder = fs::relative(file.path().parent_path(), kRoot).string();
      if (folder.starts_with("collectors/include") || folder == "collectors/level_zero/tracker") continue;
      if (file.path().extension() == ".h" || file.path().extension() == ".cpp")
        rooms[file.path().stem()].insert(folder);
    }
  }
  CHECK(rooms.size() > 300);
  for (const auto& [file_name, file_rooms] : rooms) {
    const auto& name = file_name;  // clang 14 captures no structured binding
    const auto& where = file_rooms;
    INFO(name << " is in " << *where.begin() << " and in " << *where.rbegin());
    CHECK(where.size() == 1);
  }
}

TEST_CASE("the program sees the library through its public headers only") {
  std::set<std::string> rooms;
  for (const auto& entry : fs::directory_iterator(kRoot / "collectors"))
    if (entry.is_directory()) rooms.insert(entry.path().filename());
  for (const char* const both : {"trace", "level_zero"})  // rooms of that name are in the program, too
    CHECK(rooms.erase(both) == 1);
  std::size_t seen = 0;
  for (const Include& include : includes_below("exporter")) {
    ++seen;
    INFO(include.file << " includes " << include.target);
    CHECK_FALSE(rooms.contains(first_part(include.target)));
    if (!include.system && include.target.find('/') != std::string::npos && !include.target.starts_with("igpu/") &&
        include.target.find("/embedded/") == std::string::npos && include.target != "static_file/text.h")
      CHECK(fs::exists(kRoot / "exporter" / include.target));
  }
  CHECK(seen > 500);
}

// server/ puts views on HTTP, so it may include them; no view includes server/. cli/ may include all, and commands its
// headers.
TEST_CASE("a room of the program includes only the rooms that the codemap allows") {
  check_rooms("exporter",
              {{"cli", {"level_zero", "server/", "setup", "trace", "view/"}},
               {"platform", {}},
               {"text", {}},
               {"view", {"cli", "view/report", "view/workloads"}},
               {"view/capture_file", {"cli", "view", "view/report"}},
               {"view/client", {}},
               {"view/format", {}},
               {"view/intel_gpu_top", {"cli", "view", "view/format", "view/query", "view/stats"}},
               {"view/query", {"cli", "view", "view/format", "view/report", "view/stats", "view/workloads"}},
               {"view/report", {"view/format"}},
               {"view/stats", {"cli", "view", "view/format", "view/query", "view/report", "view/workloads"}},
               {"view/top", {"cli", "view", "view/client", "view/report", "view/stats", "view/workloads"}},
               {"view/workloads", {}},
               {"server", {"cli", "server/", "view/workloads"}},
               {"server/doctor",
                {"cli", "server", "server/sandbox", "server/web_config", "view", "view/capture_file", "view/report",
                 "view/workloads"}},
               {"server/flights", {"cli", "server/self", "trace", "view/client", "view/format"}},
               {"server/http", {"server/service"}},
               {"server/pages",
                {"server/flights", "server/http", "server/self", "server/service", "view/format", "view/report"}},
               {"server/push", {"server/self", "view/client", "view/format", "view/query"}},
               {"server/sandbox", {}},
               {"server/self", {"server/sandbox", "server/service"}},
               {"server/service", {}},
               {"server/web_config", {"server/http", "server/self"}},
               {"trace", {"cli", "view/format"}},
               {"level_zero", {"cli"}},
               {"setup", {"cli", "setup/"}}},
              {"igpu", "platform", "text"});
  const std::set<std::string> for_commands = {"cli/flags.h", "cli/options.h", "cli/output.h"};
  for (const Include& include : includes_below("exporter")) {
    INFO(include.file << " includes " << include.target);
    if (first_part(include.target) == "cli" && include.room != "cli" && !include.room.empty())
      CHECK(for_commands.contains(include.target));
    if (include.room == "platform" || include.room == "text") CHECK(first_part(include.target) != "cli");
  }
}

// A door to the system is opened where this list says, and nowhere else: platform/ and the sandbox have all of them.
TEST_CASE("few rooms of the program touch the operating system") {
  const std::set<std::string> doors = {"arpa",       "csignal",  "dirent.h",  "dlfcn.h",   "elf.h",     "fcntl.h",
                                       "filesystem", "fstream",  "getopt.h",  "grp.h",     "link.h",    "linux",
                                       "net",        "netdb.h",  "netinet",   "poll.h",    "pthread.h", "pwd.h",
                                       "sched.h",    "signal.h", "spawn.h",   "sys",       "syslog.h",  "termios.h",
                                       "time.h",     "unistd.h", "windows.h", "winsock2.h"};
  const Rules allowed = {
      {"cli", {"fcntl.h", "sys/stat.h", "unistd.h"}},
      {"level_zero",
       {"dlfcn.h", "elf.h", "fcntl.h", "filesystem", "fstream", "signal.h", "sys/stat.h", "sys/xattr.h", "unistd.h"}},
      {"server", {"csignal", "filesystem"}},
      {"server/doctor", {"filesystem", "fstream", "sys/stat.h", "unistd.h"}},
      {"server/flights",
       {"dirent.h", "fcntl.h", "filesystem", "poll.h", "sys/random.h", "sys/stat.h", "time.h", "unistd.h"}},
      {"server/push", {"arpa/inet.h", "net/if.h", "poll.h", "sys/eventfd.h", "sys/stat.h", "time.h", "unistd.h"}},
      {"server/service", {"csignal", "fcntl.h", "sys/socket.h", "sys/time.h", "sys/un.h", "unistd.h"}},
      {"server/web_config", {"filesystem"}},
      {"setup", {"fcntl.h", "filesystem", "fstream", "sys/stat.h", "unistd.h"}},
      {"trace", {"filesystem", "fstream", "signal.h", "sys/wait.h", "time.h", "unistd.h"}},
      {"view/capture_file", {"sys/utsname.h", "unistd.h"}},
      {"view/intel_gpu_top", {"csignal", "fcntl.h", "getopt.h", "sys/stat.h", "unistd.h"}},
      {"view/query", {"unistd.h"}},
      {"view/stats", {"csignal", "fcntl.h", "poll.h", "sys/stat.h", "sys/types.h", "unistd.h"}},
      {"view/top",
       {"csignal", "fcntl.h", "poll.h", "pthread.h", "sys/eventfd.h", "sys/ioctl.h", "sys/signalfd.h", "sys/stat.h",
        "termios.h", "unistd.h"}}};
  Rules used;
  for (const Include& include : includes_below("exporter")) {
    if (!include.system || include.room == "platform" || include.room == "server/sandbox") continue;
    if (!doors.contains(first_part(include.target))) continue;
    INFO(include.file << " includes <" << include.target << ">");
    const std::set<std::string>* const headers = rule_of(include.room, allowed);
    CHECK((headers != nullptr && headers->contains(include.target)));
    used[rule_of(include.room, allowed) == nullptr ? include.room : include.room].insert(include.target);
  }
  for (const auto& [allowed_room, allowed_headers] : allowed) {
    for (const std::string& header : allowed_headers) {
      std::size_t users = 0;
      for (const auto& [user, headers] : used)
        if (user == allowed_room || user.starts_with(allowed_room + "/")) users += headers.count(header);
      const std::string& room = allowed_room;  // clang 14 captures no structured binding
      INFO("exporter/" << room << " no longer includes <" << header << ">: take it off the list");
      CHECK(users > 0);
    }
  }
}

TEST_CASE("only platform/ and machine/ ask which operating system it is") {
  std::size_t seen = 0;
  for (const char* const folder : {"exporter", "collectors"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string file = fs::relative(entry.path(), kRoot).string();
      const std::string extension = entry.path().extension().string();
      if (extension != ".cpp" && extension != ".h") continue;
      if (file.starts_with("exporter/platform/") || file.starts_with("collectors/machine/")) continue;
      ++seen;
      std::ifstream in(entry.path());
      const std::string text((std::istreambuf_iterator<char>(in)), {});
      INFO(file);
      for (const std::string system : {"_WIN32", "__MINGW32__", "__linux__"}) {
        for (const std::string question : {"#ifdef ", "#ifndef ", "defined(", "defined "})
          CHECK(text.find(question + system) == text.npos);
      }
    }
  }
  CHECK(seen > 300);
}

TEST_CASE("each library has one user: flags, HTTP, YAML, crypt, TLS, the sandbox's kernel interfaces") {
  const Rules users = {
      {"CLI", {"cli"}},
      {"civetweb.h", {"server/http"}},
      {"yaml.h", {"text"}},
      {"crypt.h", {"server/web_config"}},
      {"openssl", {"server/http", "server/web_config", "text"}},
      {"seccomp.h", {"server/sandbox"}},
      {"linux/landlock.h", {"server/sandbox"}},
      // Every room that opens a file for the caller lowers what is effective, by platform/own_process.h.
      {"sys/capability.h", {"platform", "server/sandbox"}},
      {"sys/prctl.h", {"platform", "server/sandbox"}}};
  std::set<std::string> seen;
  for (const Include& include : includes_below("exporter")) {
    INFO(include.file << " includes " << include.target);
    for (const std::string& library : {include.target, first_part(include.target)}) {
      const auto found = users.find(library);
      if (found == users.end()) continue;
      seen.insert(library);
      CHECK(found->second.contains(include.room));
    }
  }
  CHECK(seen.size() == users.size());
}

TEST_CASE("pages see requests and responses of HTTP, and the web configuration sees messages only") {
  for (const Include& include : includes_below("exporter")) {
    if (folder_of(include.target) != "server/http") continue;
    INFO(include.file << " includes " << include.target);
    const bool message = include.target == "server/http/message.h";
    if (include.room == "server/pages" || include.room == "server/web_config") CHECK(message);
  }
}

TEST_CASE("the tracker includes nothing of the library, which includes only its layouts and names") {
  std::size_t seen = 0;
  for (const Include& include : includes_below("collectors")) {
    if (include.system) continue;
    INFO(include.file << " includes " << include.target);
    if (include.file.starts_with("collectors/level_zero/tracker/")) {
      ++seen;
      CHECK(folder_of(include.target) == "level_zero/tracker");
    } else if (folder_of(include.target) == "level_zero/tracker") {
      ++seen;
      const std::string header = fs::path(include.target).filename();
      CHECK((header == "page_layout.h" || header == "log_layout.h" || header == "api_table.h"));
    }
  }
  CHECK(seen > 20);
}

TEST_CASE("kernel paths are written relative to a root everywhere but in machine/") {
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "collectors")) {
    const std::string name = fs::relative(entry.path(), kRoot).string();
    if (entry.path().extension() != ".cpp" || name.starts_with("collectors/machine/")) continue;
    if (name.starts_with("collectors/level_zero/tracker/")) continue;  // reads of itself only
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      const auto comment = line.find("//");
      const std::string code = line.substr(0, comment);
      INFO(name << ": " << line);
      CHECK(code.find("\"/sys/") == std::string::npos);
      CHECK(code.find("\"/proc/") == std::string::npos);
      CHECK(code.find("\"/dev/dri/r") == std::string::npos);
    }
  }
}

TEST_SUITE_END();
