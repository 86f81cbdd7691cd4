// SPDX-License-Identifier: Apache-2.0
// Files that are kept open, in a copied tree whose files come and go by other means than a driver's.
#include "machine/filesystem.h"

#include <doctest/doctest.h>

#include <array>

#include "support/machine_tree.h"

using namespace igpu;
using namespace igpu::test;

TEST_SUITE_BEGIN("filesystem");

TEST_CASE("a kept file has its current content: rewritten, replaced, deleted, created again") {
  MachineTree tree;
  tree.write("temp1_input", "41000\n");
  const auto root = open_root(tree.root().string());
  const auto file = root->open("temp1_input");
  REQUIRE(file);
  std::array<char, 64> buffer;
  CHECK((*file)->read(buffer).value_or("") == "41000\n");
  tree.write("temp1_input", "42000\n");
  CHECK((*file)->read(buffer).value_or("") == "42000\n");
  tree.write("new", "43000\n");
  tree.move("new", "temp1_input");
  CHECK((*file)->read(buffer).value_or("") == "43000\n");
  tree.remove("temp1_input");
  const auto gone = (*file)->read(buffer);
  REQUIRE(gone.is_absent());
  CHECK(gone.absent().os_error == ENOENT);
  tree.write("temp1_input", "44000\n");
  CHECK((*file)->read(buffer).value_or("") == "44000\n");
}

TEST_SUITE_END();
