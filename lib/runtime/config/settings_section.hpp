// SPDX-License-Identifier: BSD-3-Clause
// A section below `plnet:` that another part of the program owns, such as a network family. Its
// settings have a structure of their own in Settings::sections, which its keys access by
// PLNET_SECTION_FIELD and PLNET_SECTION_RECORDS.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/section_values.hpp"

namespace plnet::runtime {

// `path` is below the section: "interfaces[1]".
using SectionComplaint = std::function<void(const std::string& path, std::string what)>;

struct SettingsSection {
  std::string_view name;
  std::string_view help;
  std::span<const Key> keys;
  // The check of the whole section, without the machine. Null: there is none.
  void (*check)(const SectionValues& values, const SectionComplaint& complain) = nullptr;
};

}  // namespace plnet::runtime
