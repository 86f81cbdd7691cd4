// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fake/capture/answers.h"
#include "igpu/words.h"

namespace igpu::capture {

// Whether f(word) holds for one of the words of a list, between which '|' stands.
template <class F>
bool any_word(std::string_view list, F&& f) {
  while (!list.empty())
    if (f(take_until(list, '|'))) return true;
  return false;
}

// Replaces the names of one machine: a name always gets the same stand-in, which has the same form (a container id
// stays 64 hexadecimal digits). Numbers stay as they are.
class Masks {
 public:
  std::string process(std::string_view comm);
  std::string user(std::string_view name);  // "root" stays
  // A path of a control group, or a part of one: a unit, a container's or a pod's id. Parts that every machine has are
  // kept: "system.slice", "kubepods", "docker-", ".scope".
  std::string cgroup(std::string_view path);

 private:
  std::string part(std::string_view name);
  std::string id(std::string_view text);
  std::string numbered(std::map<std::string, std::string, std::less<>>& known, std::string_view name,
                       std::string_view stand_in);

  std::map<std::string, std::string, std::less<>> processes_, users_, groups_;
  std::map<std::string, std::size_t, std::less<>> ids_;
};

// Masks names, and removes what belongs to processes without a GPU client and what no collector uses. Returns lines
// that tell the user what was changed.
std::vector<std::string> clean(std::vector<Pass>& passes, Masks& masks);

}  // namespace igpu::capture
