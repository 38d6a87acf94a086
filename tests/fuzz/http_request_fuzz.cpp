// SPDX-License-Identifier: BSD-3-Clause
// The head of a request for the status page.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/base/check.hpp"
#include "lib/runtime/admin/http_request.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plnet;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const auto length = runtime::http_head_length(all);
  PLNET_CHECK(!length || (*length >= 4 && *length <= all.size()),
              "the head is a part of the bytes");
  const auto request = runtime::parse_http_request(all.substr(0, length.value_or(all.size())));
  if (!request) {
    const auto status = request.error().status;
    PLNET_CHECK((status == 400 || status == 405) && !request.error().why.empty(),
                "a refusal has its reason");
    return 0;
  }
  PLNET_CHECK(request->path.starts_with('/') && !request->path.contains('?'), "a path, no query");
  (void)runtime::is_own_host(request->host, "router7");
  return 0;
}
