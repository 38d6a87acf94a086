// SPDX-License-Identifier: BSD-3-Clause
// NIDs that texts of a capture file name. A file repeats few texts in each of its packets, so that
// parsed ones are kept.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "lib/lnet/names/nid.hpp"

namespace plnet::trace {

class KnownNids {
 public:
  // Other texts are parsed each time.
  static constexpr std::size_t kTextsMax = 4096;

  // Empty: the text names no NID.
  [[nodiscard]] std::optional<lnet::Nid> find(std::string_view text);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  std::unordered_map<std::string, lnet::Nid, Hash, std::equal_to<>> nids_;
};

}  // namespace plnet::trace
