// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetctl/host_names.hpp"

#include <algorithm>
#include <array>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::apps {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool may_be_in_name(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

// Networks whose addresses are IP addresses.
bool has_ip_addresses(lnet::NetId net) {
  const auto type = static_cast<lnet::NetType>(lnet::type_of_net(net));
  return type == lnet::NetType::kTcp || type == lnet::NetType::kO2ib;
}

// "mds1" of "mds1@tcp"; "" of all that is no host name on such a network.
std::string host_in(std::string_view nid) {
  const std::size_t at = nid.find('@');
  const std::string_view host = nid.substr(0, at);
  if (host.empty() || !is_letter(host.front()) || !std::ranges::all_of(host, may_be_in_name))
    return {};
  const auto net =
      lnet::parse_net(at == std::string_view::npos ? std::string_view("tcp") : nid.substr(at + 1));
  return net && has_ip_addresses(*net) ? std::string(host) : std::string();
}

}  // namespace

std::optional<std::string> look_up_host(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0 || found == nullptr)
    return std::nullopt;
  const auto& address = *reinterpret_cast<const sockaddr_in*>(found->ai_addr);
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  ::freeaddrinfo(found);
  return std::string(text.data());
}

Outcome<std::string> with_addresses(std::string_view nids, const HostLookup& look_up) {
  if (nids.find_first_of("[*<") != std::string_view::npos) return std::string(nids);  // ranges
  std::string all;
  while (true) {
    const std::size_t end = std::min(nids.find(','), nids.size());
    const std::string_view nid = nids.substr(0, end);
    const std::string host = host_in(nid);
    if (host.empty()) {
      all += nid;
    } else {
      const auto address = look_up(host);
      if (!address) {
        return failure(Errc::kNotFound,
                       fmt::format("cannot parse NID '{}': no host '{}' is known, nor is this an "
                                   "address",
                                   nid, host));
      }
      all += *address;
      all += nid.substr(std::min(nid.find('@'), nid.size()));
    }
    if (end == nids.size()) return all;
    all += ',';
    nids.remove_prefix(end + 1);
  }
}

}  // namespace plnet::apps
