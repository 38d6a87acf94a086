// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/tcp/unreachable_text.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "lib/base/joined.hpp"
#include "lib/lnet/names/address_pattern.hpp"
#include "lib/lnet/names/address_text.hpp"

namespace plnet::node {
namespace {

using runtime::LocalAddress;

constexpr std::size_t kSubnetsMax = 4;

// The subnet of the address, which is the pattern's base.
lnet::AddressPattern subnet_of(const LocalAddress& ours) {
  return {
      .kind = lnet::AddressPattern::Kind::kPrefix,
      .base = {.size = static_cast<std::uint8_t>(ours.is_v6 ? 16 : 4), .bytes_be = ours.bytes_be},
      .prefix_bits = ours.prefix_bits};
}

// "eth0 10.0.0.1/30", of the peer's address family.
std::string subnets_of(std::span<const LocalAddress> local, bool is_v6) {
  std::vector<std::string> texts;
  for (const LocalAddress& each : local) {
    if (each.is_v6 != is_v6 || each.loopback) continue;
    if (texts.size() == kSubnetsMax) {
      texts.emplace_back("…");
      break;
    }
    texts.push_back(fmt::format("{} {}", each.interface, text_of(subnet_of(each))));
  }
  return joined(texts, ", ");
}

std::string_view cause_text(Errc trouble) {
  switch (trouble) {
    case Errc::kTimedOut: return "get no answer: is the host down, or the port filtered?";
    case Errc::kRefused:
      return "are refused: LNet does not run there, or the NID is on another host now";
    case Errc::kNoRoute:
      return "find no host: is it up, and are addresses, netmasks and IP routes "
             "of both right?";
    case Errc::kNetworkDown: return "cannot leave: the network of this node is down";
    case Errc::kNotPermitted:
      return "need a source port below 1024, which this process may not have "
             "(CAP_NET_BIND_SERVICE)";
    case Errc::kReset:
    case Errc::kProtocol:
    case Errc::kVersion:
    case Errc::kStale:
      return "succeed, but the peer closes the connection: has it this NID, and does an access "
             "rule there refuse ours? Its log names the cause, `lnetctl status` there the rule";
    default: return "";
  }
}

}  // namespace

std::string unreachable_text(const lnet::Nid& peer, std::int64_t port, Errc trouble,
                             std::span<const LocalAddress> local) {
  const std::string_view cause = cause_text(trouble);
  std::string text = fmt::format("TCP connects to port {} {}", port, cause);
  if (cause.empty()) text = fmt::format("TCP connects to port {} fail: {}", port, text_of(trouble));
  const auto address = lnet::ip_of(peer);
  const bool may_be_far = trouble == Errc::kTimedOut || trouble == Errc::kNoRoute;
  if (!address || local.empty() || !may_be_far) return text;
  const bool near = std::ranges::any_of(
      local, [&address](const LocalAddress& ours) { return subnet_of(ours).matches(*address); });
  if (near) return text;
  return text + fmt::format(" Its address is in no subnet of this host ({}): is a netmask wrong?",
                            subnets_of(local, address->is_v6()));
}

}  // namespace plnet::node
