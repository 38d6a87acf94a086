// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/admin/http_request.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <arpa/inet.h>

namespace plnet::runtime {
namespace {

using Refused = std::unexpected<HttpRefusal>;

constexpr std::string_view kEnd = "\r\n\r\n";

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

// Cuts the first line off, without its end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find("\r\n");
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
  return line;
}

// Without the port. An IPv6 address keeps its brackets.
std::string_view without_port(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const std::size_t bracket = host.rfind(']');
  const bool has_port =
      colon != std::string_view::npos &&
      (bracket == std::string_view::npos ? !host.starts_with('[') : colon > bracket);
  return has_port ? host.substr(0, colon) : host;
}

std::expected<HttpRequest, HttpRefusal> parse_request_line(std::string_view line, bool& is_old) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    return Refused({400, "no request line of HTTP/1"});
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  is_old = version == "HTTP/1.0";
  if (!is_old && version != "HTTP/1.1") return Refused({400, "no request line of HTTP/1"});
  if (method != "GET" && method != "HEAD") return Refused({405, "only GET and HEAD"});
  if (!target.starts_with('/')) return Refused({400, "the target is no path"});
  return HttpRequest{.is_head = method == "HEAD",
                     .path = std::string(target.substr(0, target.find('?'))),
                     .host = {},
                     .fetch_site = {}};
}

}  // namespace

std::optional<std::size_t> http_head_length(std::string_view bytes) {
  const std::size_t end = bytes.find(kEnd);
  if (end == std::string_view::npos) return std::nullopt;
  return end + kEnd.size();
}

std::expected<HttpRequest, HttpRefusal> parse_http_request(std::string_view head) {
  bool is_old = false;
  auto request = parse_request_line(take_line(head), is_old);
  if (!request) return request;
  bool has_host = false;
  for (std::string_view line = take_line(head); !line.empty(); line = take_line(head)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0)
      return Refused({400, "a header without a name"});
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (same_word(name, "host")) {
      if (std::exchange(has_host, true)) return Refused({400, "more than one Host"});
      request->host = without_port(value);
    } else if (same_word(name, "sec-fetch-site")) {
      request->fetch_site = value;
    }
  }
  if (!has_host && !is_old) return Refused({400, "no Host"});
  return request;
}

bool is_own_host(std::string_view host, std::string_view own_name) {
  if (host.empty()) return true;  // no browser
  if (same_word(host, "localhost") || same_word(host, own_name)) return true;
  std::string address(host);
  const bool is_bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (is_bracketed) address = host.substr(1, host.size() - 2);
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(is_bracketed ? AF_INET6 : AF_INET, address.c_str(), bytes.data()) == 1;
}

}  // namespace plnet::runtime
