// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

// Tests that ThreadSanitizer leaves out run in one thread (tests/CMakeLists.txt). The sanitizers have a pthread_create
// of their own, so only the other builds check that.
#ifndef IGPU_SANITIZED
#include <dlfcn.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*start)(void*), void* argument) noexcept {
  if (std::getenv("IGPU_ONE_THREAD") != nullptr) {
    std::fputs("a thread is started in a folder that ThreadSanitizer leaves out: see tests/CMakeLists.txt\n", stderr);
    std::abort();
  }
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, start, argument);
}
#endif
