// SPDX-License-Identifier: BSD-3-Clause
// The reader of a simulated site's plan accepts a plan or gives an error with a text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "apps/lnet-sim/plan/site_reader.hpp"
#include "lib/base/check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plnet;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto site = sim::read_site(text, "site.yaml");
  if (!site) PLNET_CHECK(!site.error().empty(), "an error has a text");
  return 0;
}
