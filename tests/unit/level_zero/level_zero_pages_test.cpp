// SPDX-License-Identifier: Apache-2.0
#include "level_zero/level_zero_pages.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/fake_page_folder.h"
#include "support/level_zero_page.h"
#include "support/scratch_folder.h"

using namespace igpu;
using level_zero::Kind;
using test::FakePageFolder;
using test::FakePages;
using test::LevelZeroPageBytes;
using test::ScratchFolder;

namespace {

std::variant<LevelZeroPage, PageRejection> parse(LevelZeroPageBytes& page) {
  return parse_level_zero_page(page.bytes(), page.bytes().size());
}

PageRejection rejection(const std::function<void(LevelZeroPageBytes&)>& change) {
  LevelZeroPageBytes page;
  change(page);
  const auto parsed = parse(page);
  const auto* reason = std::get_if<PageRejection>(&parsed);
  REQUIRE(reason != nullptr);
  return *reason;
}

LevelZeroSnapshot read(LevelZeroPages& pages) {
  auto snapshot = pages.read();
  REQUIRE(snapshot);
  return *snapshot;
}

LevelZeroPages pages_in(const ScratchFolder& folder) { return LevelZeroPages(open_page_folder(folder.path("."))); }

std::uint64_t rejected_for(PageRejection reason, const LevelZeroSnapshot& snapshot) {
  return snapshot.rejected[static_cast<std::size_t>(reason)];
}

std::uint64_t all_rejected(const LevelZeroSnapshot& snapshot) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : snapshot.rejected) sum += count;
  return sum;
}

// A folder in whose files somebody interferes after they were opened, and before they are read.
class InterferedFolder final : public PageFolder {
 public:
  InterferedFolder(std::unique_ptr<PageFolder> folder, std::function<void()> interfere)
      : folder_(std::move(folder)), interfere_(std::move(interfere)) {}

  Reading<std::vector<std::string>> names() override { return folder_->names(); }
  Reading<PageFacts> facts(std::string_view name) override { return folder_->facts(name); }
  Reading<std::unique_ptr<PageFile>> open(std::string_view name) override {
    auto file = folder_->open(name);
    interfere_();
    return file;
  }

 private:
  std::unique_ptr<PageFolder> folder_;
  std::function<void()> interfere_;
};

}  // namespace

TEST_SUITE_BEGIN("level zero pages");

TEST_CASE("a page says what its program holds, counted and called") {
  LevelZeroPageBytes bytes;
  const auto parsed = parse(bytes);
  REQUIRE(std::holds_alternative<LevelZeroPage>(parsed));
  const auto& page = std::get<LevelZeroPage>(parsed);
  CHECK(page.comm == "trainer");
  CHECK(page.pid == 42);
  REQUIRE(page.resources.size() == 1);
  const LevelZeroKindUse& memory = page.resources.front();
  CHECK(memory.kind == "memory_device");
  CHECK(memory.created == 5);
  CHECK(memory.live == 2);
  CHECK(memory.live_peak == 4);
  CHECK(memory.failed == 1);
  CHECK(memory.bytes == 8192);
  REQUIRE(page.calls.size() == 1);
  CHECK(page.calls.front().function == "zeContextCreate");
  CHECK(page.calls.front().calls == 3);  // of all lanes
  CHECK(page.calls.front().errors == 1);
}

TEST_CASE("kinds and functions that a newer tracker added are left out") {
  LevelZeroPageBytes bytes;
  bytes.header().kinds = level_zero::kKinds + 1;
  bytes.header().functions = level_zero::kFunctions + 1;
  CHECK(std::holds_alternative<LevelZeroPage>(parse(bytes)));
}

TEST_CASE("a counter between a destroy and its create is no lie") {
  LevelZeroPageBytes bytes;
  bytes.kind(Kind::event) = {.created = 1, .destroyed = 2, .live = std::uint64_t(-1), .live_peak = 1};
  const auto parsed = parse(bytes);
  REQUIRE(std::holds_alternative<LevelZeroPage>(parsed));
  CHECK(std::get<LevelZeroPage>(parsed).resources.front().live == 0);
}

TEST_CASE("a page that lies in any field is rejected") {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 60;
  CHECK(rejection([](auto& p) { p.header().magic ^= 1; }) == PageRejection::header);
  CHECK(rejection([](auto& p) { p.header().version = 2; }) == PageRejection::version);
  CHECK(rejection([](auto& p) { p.header().frames_per_site = 0; }) == PageRejection::size);
  CHECK(rejection([](auto& p) { p.header().frames_per_site = 17; }) == PageRejection::size);
  CHECK(rejection([](auto& p) { p.header().entries_offset += 4096; }) == PageRejection::size);
  CHECK(rejection([](auto& p) { p.header().entries += 1; }) == PageRejection::size);
  CHECK(rejection([](auto& p) { p.header().entries = level_zero::entries_of(2); }) == PageRejection::size);
  CHECK(rejection([](auto& p) { p.header().kinds = 65; }) == PageRejection::header);
  CHECK(rejection([](auto& p) { p.header().functions = 193; }) == PageRejection::header);
  CHECK(rejection([](auto& p) { std::memset(p.header().comm, 'x', 16); }) == PageRejection::header);
  CHECK(rejection([](auto& p) { p.header().started_realtime_ns = 0; }) == PageRejection::implausible);
  CHECK(rejection([](auto& p) { p.header().invalid_destroys = kHuge; }) == PageRejection::implausible);
  CHECK(rejection([](auto& p) { p.header().untracked = kHuge; }) == PageRejection::implausible);
  using Counters = level_zero::KindCounters;
  for (std::uint64_t Counters::*field :
       {&Counters::created, &Counters::destroyed, &Counters::live, &Counters::live_peak, &Counters::failed,
        &Counters::bytes, &Counters::bytes_peak, &Counters::bytes_allocated})
    CHECK(rejection([&](auto& p) { p.kind(Kind::fence).*field = kHuge; }) == PageRejection::implausible);
  CHECK(rejection([](auto& p) { p.kind(Kind::fence) = {.created = 9000}; }) == PageRejection::implausible);
  CHECK(rejection([](auto& p) { p.kind(Kind::fence) = {.created = 1, .live = 1, .live_peak = 9000}; }) ==
        PageRejection::implausible);
  CHECK(rejection([](auto& p) { p.call(7, 7) = {kHuge, 0}; }) == PageRejection::implausible);
  CHECK(rejection([](auto& p) { p.call(7, 7) = {1, 9000}; }) == PageRejection::implausible);
}

TEST_CASE("random bytes behind a true header are rejected") {
  std::mt19937_64 random(13);
  for (int i = 0; i < 100; ++i) {
    LevelZeroPageBytes page;
    for (std::size_t at = sizeof(level_zero::Header); at < page.bytes().size(); ++at)
      page.bytes()[at] = static_cast<std::byte>(random());
    CHECK(std::get<PageRejection>(parse(page)) == PageRejection::implausible);
  }
}

TEST_CASE("without the folder there is nothing, and that is no failure") {
  const ScratchFolder folder;
  LevelZeroPages pages(open_page_folder(folder.path("none")));
  CHECK(pages.read().is_absent());
  std::filesystem::create_directory(folder.path("none"));
  CHECK(read(pages).programs.empty());
}

TEST_CASE("what is no page is counted by reason and hides nothing") {
  const ScratchFolder folder;
  LevelZeroPageBytes page;
  folder.write("1-10.l0", page.text());
  REQUIRE(::mkfifo(folder.path("1-11.l0").c_str(), 0600) == 0);
  std::filesystem::create_directory(folder.path("1-12.l0"));
  std::filesystem::create_symlink("1-10.l0", folder.path("1-13.l0"));
  folder.write("1-14.l0", "short");
  std::filesystem::resize_file(folder.write("1-15.l0", ""), std::uintmax_t{1} << 40);  // sparse
  folder.write("1-16.l0", std::string(page.text().size(), 'x'));
  page.header().version = 7;
  folder.write("1-17.l0", page.text());
  folder.write("notes.txt", "not ours");
  folder.write("-.l0", "not ours");

  LevelZeroPages pages = pages_in(folder);
  const LevelZeroSnapshot snapshot = read(pages);
  CHECK(snapshot.programs.size() == 1);
  CHECK(rejected_for(PageRejection::not_a_file, snapshot) == 3);
  CHECK(rejected_for(PageRejection::size, snapshot) == 2);
  CHECK(rejected_for(PageRejection::header, snapshot) == 1);
  CHECK(rejected_for(PageRejection::version, snapshot) == 1);
  CHECK(all_rejected(snapshot) == 7);
}

TEST_CASE("a page whose counters go back is rejected until they have caught up") {
  const ScratchFolder folder;
  LevelZeroPageBytes page;
  const std::string path = folder.write("1-10.l0", page.text());
  const auto write_over = [&] { std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << page.text(); };
  LevelZeroPages pages = pages_in(folder);
  CHECK(read(pages).programs.size() == 1);
  page.kind(Kind::memory_device).created = 4;
  page.kind(Kind::memory_device).destroyed = 2;
  write_over();
  CHECK(rejected_for(PageRejection::implausible, read(pages)) == 1);
  CHECK(read(pages).programs.empty());
  page.kind(Kind::memory_device).created = 6;
  page.kind(Kind::memory_device).destroyed = 4;
  write_over();
  CHECK(read(pages).programs.size() == 1);
}

TEST_CASE("a page that its writer truncates is rejected") {
  const ScratchFolder folder;
  LevelZeroPageBytes page;
  const std::string path = folder.write("1-10.l0", page.text());
  LevelZeroPages pages = pages_in(folder);
  CHECK(read(pages).programs.size() == 1);
  std::filesystem::resize_file(path, 4096);
  CHECK(rejected_for(PageRejection::size, read(pages)) == 1);
}

TEST_CASE("a page that its writer truncates while it is read is rejected, and the one beside it is not") {
  for (const std::uintmax_t left : {std::uintmax_t{0}, std::uintmax_t{4096}, std::uintmax_t{kLevelZeroHeadBytes - 1}}) {
    CAPTURE(left);
    const ScratchFolder folder;
    LevelZeroPageBytes page;
    const std::string path = folder.write("1-11.l0", page.text());
    folder.write("1-10.l0", page.text());
    LevelZeroPages pages(std::make_unique<InterferedFolder>(open_page_folder(folder.path(".")),
                                                            [&] { std::filesystem::resize_file(path, left); }));
    const LevelZeroSnapshot snapshot = read(pages);
    CHECK(rejected_for(PageRejection::size, snapshot) == 1);
    REQUIRE(snapshot.programs.size() == 1);
    CHECK(snapshot.programs.front().name == "1-10.l0");
  }
}

TEST_CASE("thousands of empty files take no place of a page") {
  constexpr std::size_t kEmpty = LevelZeroPages::kMostFacts - 2;
  const ScratchFolder folder;
  LevelZeroPageBytes page;
  for (std::size_t i = 0; i < kEmpty; ++i) folder.write("1-" + std::to_string(100000 + i) + ".l0", "");
  folder.write("2-200000.l0", page.text());
  folder.write("2-1.l0", page.text());
  LevelZeroPages pages = pages_in(folder);
  const LevelZeroSnapshot snapshot = read(pages);
  CHECK(snapshot.programs.size() == 2);
  CHECK(rejected_for(PageRejection::size, snapshot) == kEmpty);
  CHECK(rejected_for(PageRejection::too_many, snapshot) == 0);
}

TEST_CASE("of too many files only some are looked at, and every program is found and stays") {
  constexpr std::size_t kForged = 3 * LevelZeroPages::kMostFacts;
  const std::uint64_t now = 1'000'000'000'000;
  LevelZeroPageBytes page;
  for (const bool like_a_page : {false, true}) {
    CAPTURE(like_a_page);
    const std::size_t size = like_a_page ? kLevelZeroHeadBytes : 0;
    const auto files = std::make_shared<FakePages>();
    for (std::size_t i = 0; i < kForged; ++i)
      files->files["1-" + std::to_string(now + i) + ".l0"] = {{}, {}, 1001, size};
    files->files["2-7.l0"] = {page.bytes(), {}, 1002};  // older than all of them
    files->files["3-" + std::to_string(now + kForged) + ".l0"] = {page.bytes(), {}, 1003};
    LevelZeroPages pages(std::make_unique<FakePageFolder>(files), [&] { return now; });
    const auto read_again = [&] {
      files->asked = 0;
      LevelZeroSnapshot snapshot = read(pages);
      CHECK(files->asked <= LevelZeroPages::kMostFacts);
      return snapshot;
    };
    LevelZeroSnapshot snapshot = read_again();
    REQUIRE(snapshot.programs.size() == 1);
    CHECK(snapshot.programs.front().owner == 1003);
    CHECK(all_rejected(snapshot) == kForged + 1);
    std::size_t reads = 1;
    while (snapshot.programs.size() < 2 && reads < 100) {
      snapshot = read_again();
      ++reads;
      CHECK(rejected_for(PageRejection::too_many, snapshot) == 0);  // counted before
      // Those that were not read the last time, because of their number, are now, and turn out to be no pages.
      if (!like_a_page) CHECK(rejected_for(PageRejection::size, snapshot) == 0);
    }
    CHECK(reads <= kForged / (LevelZeroPages::kMostFacts / 2 - 1) + 1);
    for (int i = 0; i < 3; ++i) {
      snapshot = read_again();
      CHECK(snapshot.programs.size() == 2);
      CHECK(rejected_for(PageRejection::too_many, snapshot) == 0);
    }
  }
}

TEST_CASE("a user who fills the folder takes no place of another one") {
  const auto files = std::make_shared<FakePages>();
  LevelZeroPageBytes page;
  const auto add = [&](const std::string& name, std::uint32_t owner) {
    files->files[name] = {page.bytes(), {}, owner};
  };
  for (int i = 0; i < 2000; ++i) add("1-" + std::to_string(9'000'000'000'000'000'000 + i) + ".l0", 1001);
  for (int i = 0; i < 300; ++i) add("2-" + std::to_string(100 + i) + ".l0", 1002);
  add("3-5.l0", 1003);
  LevelZeroPages pages(std::make_unique<FakePageFolder>(files));
  const LevelZeroSnapshot snapshot = read(pages);
  std::map<std::uint32_t, std::size_t> read_of;
  for (const LevelZeroProgram& program : snapshot.programs) ++read_of[program.owner];
  CHECK(read_of[1003] == 1);
  CHECK(read_of[1002] == 300);
  CHECK(read_of[1001] == LevelZeroPages::kMostPages - 301);
  CHECK(rejected_for(PageRejection::too_many, snapshot) == 2301 - LevelZeroPages::kMostPages);
  CHECK(files->opened == LevelZeroPages::kMostPages);
}

TEST_CASE("of one user the newest are read; a start in the future or a file that was rejected comes last") {
  const auto files = std::make_shared<FakePages>();
  LevelZeroPageBytes page, bad;
  bad.header().version = 7;
  const std::uint64_t now = 1'000'000'000'000;
  for (std::size_t i = 0; i < LevelZeroPages::kMostPages; ++i) {
    files->files["1-" + std::to_string(now + 100'000'000'000 + i) + ".l0"] = {page.bytes(), {}};
    files->files["2-" + std::to_string(1000 + i) + ".l0"] = {bad.bytes(), {}};
  }
  files->files["3-7.l0"] = {page.bytes(), {}};
  LevelZeroPages pages(std::make_unique<FakePageFolder>(files), [&] { return now; });
  CHECK(read(pages).programs.empty());  // all that were read are newer, and bad
  LevelZeroSnapshot snapshot = read(pages);
  REQUIRE(snapshot.programs.size() == LevelZeroPages::kMostPages);
  CHECK(snapshot.programs.back().name == "3-7.l0");
  snapshot = read(pages);
  CHECK(snapshot.programs.back().name == "3-7.l0");
  CHECK(all_rejected(snapshot) == 0);  // they were counted before
}

TEST_CASE("a file is counted once for as long as it is rejected") {
  const ScratchFolder folder;
  LevelZeroPages pages = pages_in(folder);
  const std::string path = folder.write("1-10.l0", "short");
  CHECK(rejected_for(PageRejection::size, read(pages)) == 1);
  CHECK(rejected_for(PageRejection::size, read(pages)) == 0);
  std::filesystem::remove(path);
  CHECK(all_rejected(read(pages)) == 0);
  folder.write("1-10.l0", "short");
  CHECK(rejected_for(PageRejection::size, read(pages)) == 1);
}

TEST_CASE("files to be skipped leave room for older ones") {
  const ScratchFolder folder;
  LevelZeroPageBytes page;
  for (std::size_t i = 0; i < LevelZeroPages::kMostPages; ++i)
    std::filesystem::resize_file(folder.write("1-" + std::to_string(100000 + i) + ".l0", ""), kLevelZeroHeadBytes);
  folder.write("2-1.l0", page.text());
  LevelZeroPages pages = pages_in(folder);
  CHECK(read(pages).programs.empty());
  auto snapshot = pages.read([](std::string_view name) { return name.starts_with("1-"); });
  REQUIRE(snapshot);
  CHECK(snapshot->skipped.size() == LevelZeroPages::kMostPages);
  REQUIRE(snapshot->programs.size() == 1);
  CHECK(snapshot->programs.front().name == "2-1.l0");
}

TEST_CASE("a lock says who is alive") {
  const ScratchFolder folder;
  LevelZeroPageBytes page;
  const std::string path = folder.write("1-10.l0", page.text());
  LevelZeroPages pages = pages_in(folder);
  CHECK_FALSE(read(pages).programs.at(0).alive);

  int ready[2];
  int stop[2];
  REQUIRE(::pipe(ready) == 0);
  REQUIRE(::pipe(stop) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct ::flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_len = 1;
    char byte = ::fcntl(fd, F_SETLK, &lock) == 0 ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    ::close(stop[1]);
    while (::read(stop[0], &byte, 1) > 0) {
    }
    ::_exit(0);
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  REQUIRE(byte == 'y');
  LevelZeroSnapshot snapshot = read(pages);
  CHECK(snapshot.programs.at(0).alive);
  CHECK(snapshot.programs.at(0).pid == child);
  ::close(stop[1]);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK_FALSE(read(pages).programs.at(0).alive);
  for (const int fd : {ready[0], ready[1], stop[0]}) ::close(fd);
}

TEST_SUITE_END();
