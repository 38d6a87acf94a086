// SPDX-License-Identifier: BSD-3-Clause
// Hosts of NIDs that are numbers: the address of a NIC says nothing to people. A file of the
// site's, or a program, says which host has which address; the name follows each line with such a
// NID as a comment, which YAML allows.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace plnet::runtime {

// Read if no other is named, and nobody misses it.
inline constexpr const char* kNicNamesPath = "/etc/plnet/nic_names";

class NicNames {
 public:
  // Of `path`; "": of the usual file, if it is there. Nobody has asked for that one, so what is
  // wrong with it is said on `warnings`, and nobody has a name.
  [[nodiscard]] static Outcome<NicNames> look_up(const std::string& path, std::FILE* warnings,
                                                 const std::string& usual = kNicNamesPath);
  // A line each: ADDRESS NAME, the address as in a NID or with 0x; # begins a comment. A file that
  // may be executed is run, and what it prints is read. Errors name the file and the line.
  [[nodiscard]] static Outcome<NicNames> read(const std::string& path);
  [[nodiscard]] static Outcome<NicNames> parse(std::string_view text, std::string_view path);

  // "" for one that has none.
  [[nodiscard]] std::string_view name_of(std::uint32_t address) const;
  // "login1, n2": of the NIDs in a line, in their order.
  [[nodiscard]] std::string names_in(std::string_view line) const;
  // The text with names behind its lines.
  [[nodiscard]] std::string annotate(std::string_view text) const;

 private:
  std::map<std::uint32_t, std::string> names_;
};

}  // namespace plnet::runtime
