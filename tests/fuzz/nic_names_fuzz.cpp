// SPDX-License-Identifier: BSD-3-Clause
// The file that names hosts of NICs, and a text to which these names are added. The input is the
// file up to the first zero byte, then the text. Nothing is removed from the text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/base/check.hpp"
#include "lib/runtime/files/nic_names.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plnet;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(all.find('\0'), all.size());
  const auto names = runtime::NicNames::parse(all.substr(0, end), "names");
  if (!names) {
    PLNET_CHECK(names.error().what.starts_with("names"), "an error names the file");
    return 0;
  }
  const std::string_view text = all.substr(std::min(end + 1, all.size()));
  PLNET_CHECK(names->annotate(text).size() >= text.size(), "names are added");
  return 0;
}
