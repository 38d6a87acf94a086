// SPDX-License-Identifier: BSD-3-Clause
// The settings of sections of other owners (settings_section.hpp), each in the structure of its
// owner. A structure names its section: S::kSection. A section that was never set has its defaults.
#pragma once

#include <algorithm>
#include <any>
#include <map>
#include <string_view>

#include "lib/base/check.hpp"

namespace plnet::runtime {

class SectionValues {
 public:
  template <class S>
  [[nodiscard]] const S& of() const {
    static const S defaults{};
    const auto found = values_.find(S::kSection);
    return found == values_.end() ? defaults : *checked<S>(std::any_cast<S>(&found->second.value));
  }
  template <class S>
  [[nodiscard]] S& of() {
    const auto entry = values_.try_emplace(S::kSection, Entry{S{}, &are_same<S>}).first;
    return *checked<S>(std::any_cast<S>(&entry->second.value));
  }

  friend bool operator==(const SectionValues& a, const SectionValues& b) {
    const auto same = [&](const auto& entry) { return entry.second.are_same(a, b); };
    return std::ranges::all_of(a.values_, same) && std::ranges::all_of(b.values_, same);
  }

 private:
  struct Entry {
    std::any value;
    bool (*are_same)(const SectionValues& a, const SectionValues& b);
  };
  template <class S>
  static bool are_same(const SectionValues& a, const SectionValues& b) {
    return a.of<S>() == b.of<S>();
  }
  template <class S, class Pointer>
  static Pointer checked(Pointer value) {
    PLNET_CHECK(value != nullptr, "a section has one structure");
    return value;
  }

  std::map<std::string_view, Entry> values_;
};

}  // namespace plnet::runtime
