// SPDX-License-Identifier: Apache-2.0
// Which place in the program made a call. The immediate caller is mostly the loader; the place that counts is the
// first one outside it.
#pragma once

#include <cstdint>

#include "tracker/page_layout.h"

namespace igpu::level_zero {

// Where a tracked call came from: its return address and where on the stack that lies.
struct Caller {
  std::uintptr_t address;
  std::uintptr_t stack_slot;
};

// Where the loader and its layers are mapped. Called whenever a loader asks for a table.
void find_loader();

class CallSites {
 public:
  void begin(Header& header, std::uint32_t frames_per_site, Module* modules, unsigned char* sites);
  // The number of the site in the page; kNoSite when all are taken.
  std::uint32_t of(const Caller& caller);

 private:
  std::uint32_t intern(const std::uint64_t* frames, std::uint32_t depth);
  SiteHeader& site(std::uint32_t number);
  void note_module(std::uint64_t address);

  Header* header_;
  Module* modules_;
  unsigned char* sites_;
  // Bounds are kept here and never read back from the page: others may write to it.
  std::uint32_t depth_;
  std::uint32_t module_count_;
  unsigned lock_;
};

}  // namespace igpu::level_zero
