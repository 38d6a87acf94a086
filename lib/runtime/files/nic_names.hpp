// SPDX-License-Identifier: BSD-3-Clause
// Host names of numeric NIDs: the address of a NIC tells people nothing. A file of the site, or a
// program, maps addresses to hosts; the name is appended to each line with such a NID as a comment,
// which YAML allows.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace plnet::runtime {

// Read if no other file is named; it may be missing.
inline constexpr const char* kNicNamesPath = "/etc/plnet/nic_names";

class NicNames {
 public:
  // Reads `path`; "": the usual file, if it exists. Errors in the usual file are printed on
  // `warnings`, and no NID then has a name, since nobody asked for that file.
  [[nodiscard]] static Outcome<NicNames> look_up(const std::string& path, std::FILE* warnings,
                                                 const std::string& usual = kNicNamesPath);
  // One line each: ADDRESS NAME, the address as in a NID or with 0x; # begins a comment. An
  // executable file is run, and its output is read. Errors name the file and the line.
  [[nodiscard]] static Outcome<NicNames> read(const std::string& path);
  [[nodiscard]] static Outcome<NicNames> parse(std::string_view text, std::string_view path);

  // "" if the address has no name.
  [[nodiscard]] std::string_view name_of(std::uint32_t address) const;
  // "login1, n2": the names of the NIDs in a line, in their order.
  [[nodiscard]] std::string names_in(std::string_view line) const;
  // The text with names appended to its lines.
  [[nodiscard]] std::string annotate(std::string_view text) const;

 private:
  std::map<std::uint32_t, std::string> names_;
};

}  // namespace plnet::runtime
