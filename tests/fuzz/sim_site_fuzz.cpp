// SPDX-License-Identifier: BSD-3-Clause
// The plan of a simulated site: errors say where, and what is read can be built upon.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "apps/lnet-sim/plan/site_reader.hpp"
#include "lib/base/check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plnet;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto site = sim::read_site(text, "site.yaml");
  if (!site) PLNET_CHECK(!site.error().empty(), "a refusal says why");
  return 0;
}
