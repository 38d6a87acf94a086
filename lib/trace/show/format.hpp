// SPDX-License-Identifier: BSD-3-Clause
// Formats lines by a user's format: "%[-][0][width][.precision]CODE". Widths are minimum widths; a
// precision cuts. A field that a message lacks is "-". Blanks at the end of a line are removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/trace/show/sighting.hpp"

namespace plnet::trace {

struct FormatCode {
  std::string_view code;
  std::string_view help;
  std::string (*text)(const Sighting& sighting) = nullptr;
};
[[nodiscard]] std::span<const FormatCode> format_codes();

class Format {
 public:
  static constexpr std::size_t kTextMax = 4096;
  static constexpr std::size_t kWidthMax = 256;

  // Errors name the column.
  [[nodiscard]] static Outcome<Format> parse(std::string_view text);

  [[nodiscard]] std::string line(const Sighting& sighting) const;

 private:
  struct Piece {
    std::string literal;  // before the code
    const FormatCode* code = nullptr;
    bool left = false;
    bool zeros = false;
    std::size_t width = 0;
    std::size_t precision = std::string::npos;
  };
  std::vector<Piece> pieces_;
};

// UTC: "2026-11-20T21:11:30.795952000Z".
[[nodiscard]] std::string text_of_time(std::uint64_t time_ns);

}  // namespace plnet::trace
