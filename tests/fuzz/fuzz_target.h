// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace igpu::test {

// One of the targets of the program fuzz_targets, which runs the one that its first argument names.
struct FuzzTarget {
  using Run = int (*)(const std::uint8_t* data, std::size_t size);

  FuzzTarget(const char* name_of_it, Run runs);  // registers it
  const char* name;
  Run run;
  const FuzzTarget* next;
};

}  // namespace igpu::test

// Followed by the body of what is done with an input.
#define FUZZ_TARGET(name)                                               \
  static int run_##name(const std::uint8_t* data, std::size_t size);    \
  static const igpu::test::FuzzTarget name##_target{#name, run_##name}; \
  static int run_##name(const std::uint8_t* data, std::size_t size)

// Ends the run where a property does not hold; in every build type.
#define FUZZ_CHECK(condition)                                                            \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)
