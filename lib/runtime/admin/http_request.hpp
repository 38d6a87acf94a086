// SPDX-License-Identifier: BSD-3-Clause
// The head of an HTTP request, as far as a server of a few read-only documents needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace plnet::runtime {

// A browser's head has some 700 bytes; cookies of other servers on the same host may come on top.
inline constexpr std::size_t kHttpHeadMax = std::size_t{8} << 10;

struct HttpRequest {
  bool is_head = false;    // HEAD; else GET
  std::string path;        // without the query
  std::string host;        // without the port; "": HTTP/1.0 without Host
  std::string fetch_site;  // Sec-Fetch-Site of browsers; "": not sent
};

struct HttpRefusal {
  std::uint16_t status = 400;
  std::string_view why;
};

// The length of the head at the start of `bytes`, with its empty line; none: it is not complete.
[[nodiscard]] std::optional<std::size_t> http_head_length(std::string_view bytes);

// `head` is complete. Other methods than GET and HEAD are refused with status 405.
[[nodiscard]] std::expected<HttpRequest, HttpRefusal> parse_http_request(std::string_view head);

// True for addresses, "localhost" and `own_name`. A page of a stranger whose name leads to this
// machine (DNS rebinding) sends its own name.
[[nodiscard]] bool is_own_host(std::string_view host, std::string_view own_name);

}  // namespace plnet::runtime
