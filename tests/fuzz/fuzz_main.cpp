// SPDX-License-Identifier: Apache-2.0
//
// fuzz_targets TARGET FILE...: runs a target over files (folders: every file in them). With IGPU_FUZZ, libFuzzer
// searches from them. Without, and with any compiler, each is run as it is, cut off at many places, and changed here
// and there, always in the same way.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/fuzz_target.h"

namespace {

const igpu::test::FuzzTarget* last_target = nullptr;
const igpu::test::FuzzTarget* chosen = nullptr;

// Takes the target's name from the arguments.
void choose(int& argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  chosen = last_target;
  while (chosen != nullptr && chosen->name != name) chosen = chosen->next;
  if (chosen == nullptr) {
    std::fprintf(stderr, "usage: fuzz_targets TARGET FILE...; there is no target \"%s\"\n", argc > 1 ? argv[1] : "");
    std::exit(2);
  }
  std::copy(argv + 2, argv + argc, argv + 1);
  argv[--argc] = nullptr;
}

}  // namespace

igpu::test::FuzzTarget::FuzzTarget(const char* name_of_it, Run runs) : name(name_of_it), run(runs), next(last_target) {
  last_target = this;
}

#ifdef IGPU_FUZZ

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  choose(*argc, *argv);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { return chosen->run(data, size); }

#else

namespace {

void run(std::string_view bytes) {
  // A vector of exactly this size: AddressSanitizer sees a read behind its end, which a string's zero would hide.
  const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
  chosen->run(input.data(), input.size());
}

std::string changed(const std::string& bytes, std::mt19937& random) {
  constexpr std::string_view kTelling = "0123456789:- \t\n()/,=\"\\\xff";
  std::string text = bytes;
  for (auto edits = random() % 4 + 1; edits > 0 && !text.empty(); --edits) {
    const std::size_t at = random() % text.size();
    switch (random() % 4) {
      case 0: text[at] = static_cast<char>(random()); break;
      case 1: text.insert(at, 1, kTelling[random() % kTelling.size()]); break;
      case 2: text.insert(at, bytes, random() % bytes.size(), random() % 40); break;
      default: text.erase(at, random() % 8); break;
    }
  }
  return text;
}

void replay(const std::filesystem::path& path) {
  constexpr std::size_t kCuts = 256;
  constexpr int kChanges = 300;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::fprintf(stderr, "%s\n", path.c_str());  // before the run: when it crashes, the last line names the input
  run(bytes);
  for (std::size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / kCuts)
    run(std::string_view(bytes).substr(0, size));
  std::mt19937 random(1);
  for (int i = 0; i < kChanges && !bytes.empty(); ++i) run(changed(bytes, random));
}

}  // namespace

int main(int argc, char** argv) try {
  choose(argc, argv);
  std::size_t replayed = 0;
  for (int i = 1; i < argc; ++i) {
    std::vector<std::filesystem::path> paths;
    if (std::filesystem::is_directory(argv[i])) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i]))
        if (entry.is_regular_file()) paths.push_back(entry.path());
    } else {
      paths.emplace_back(argv[i]);
    }
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) replay(path);
    replayed += paths.size();
  }
  std::fprintf(stderr, "%zu inputs replayed\n", replayed);
  return replayed > 0 ? 0 : 1;  // an empty corpus tests nothing
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

#endif
