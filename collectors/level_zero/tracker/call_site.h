// SPDX-License-Identifier: Apache-2.0
// Finds the place in the program that made a call: the first caller outside the Level Zero loader, which is usually the
// immediate caller.
#pragma once

#include <cstdint>

#include "level_zero/tracker/page_layout.h"

namespace igpu::level_zero {

// Where a tracked call came from: its return address and where on the stack that lies.
struct Caller {
  std::uintptr_t address;
  std::uintptr_t stack_slot;
};

// Finds where the loader and its layers are mapped. Called whenever a loader requests a table.
void find_loader();

class CallSites {
 public:
  void begin(Header& header, std::uint32_t frames_per_site, Module* modules, unsigned char* sites);
  // The number of the caller's site in the page; kNoSite if the page has no room for another site.
  std::uint32_t of(const Caller& caller);

 private:
  std::uint32_t intern(const std::uint64_t* frames, std::uint32_t depth);
  SiteHeader& site(std::uint32_t number);
  void note_module(std::uint64_t address);

  Header* header_;
  Module* modules_;
  unsigned char* sites_;
  // Bounds are kept here and never read back from the page, because other code of the program may write to it.
  std::uint32_t depth_;
  std::uint32_t module_count_;
  unsigned lock_;
};

}  // namespace igpu::level_zero
