// SPDX-License-Identifier: Apache-2.0
#pragma once

// IGPU_SANITIZED: this build has AddressSanitizer or ThreadSanitizer. gcc and clang say so in different ways.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IGPU_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IGPU_SANITIZED 1
#endif
#endif
