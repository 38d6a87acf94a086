// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/sim/network.hpp"

#include <algorithm>
#include <cstring>

#include "drivers/net/sim/dice.hpp"
#include "lib/base/check.hpp"

namespace plnet::drivers {

namespace {

constexpr Duration kLocalLatency = std::chrono::nanoseconds(300);  // from a host to itself

}  // namespace

IpBytes mapped_ipv4(std::uint32_t address) {
  IpBytes ip{};
  ip[10] = ip[11] = 0xff;
  for (unsigned i = 0; i < 4; ++i)
    ip[12 + i] = static_cast<std::uint8_t>(address >> (24 - 8 * i));
  return ip;
}

std::size_t SimNetwork::IpHash::operator()(const IpBytes& ip) const {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::memcpy(&high, ip.data(), 8);
  std::memcpy(&low, ip.data() + 8, 8);
  return (high * 31 + low) * 0x9e37'79b9'7f4a'7c15ULL >> 8U;
}

SimNetwork::SimNetwork(EventLoop& loop, const LinkShape& shape, std::uint64_t seed)
    : loop_(loop), shape_(shape), random_(Random(seed).fork("network")) {}

HostId SimNetwork::add_host() {
  hosts_.emplace_back();
  addresses_.emplace_back();
  return static_cast<HostId>(hosts_.size() - 1);
}

Result<void> SimNetwork::add_address(HostId host, const IpBytes& ip) {
  PLNET_CHECK(host < hosts_.size(), "host was never added");
  if (!by_address_.emplace(ip, host).second) return std::unexpected(Errc::kExists);
  addresses_[host].push_back(ip);
  return {};
}

void SimNetwork::remove_address(const IpBytes& ip) {
  const HostId host = host_of(ip);
  if (host == kNoHost) return;
  by_address_.erase(ip);
  std::erase(addresses_[host], ip);
}

HostId SimNetwork::host_of(const IpBytes& ip) const {
  const auto found = by_address_.find(ip);
  return found == by_address_.end() ? kNoHost : found->second;
}

const IpBytes& SimNetwork::first_address(HostId host) const {
  PLNET_CHECK(host < hosts_.size() && !addresses_[host].empty(), "host has no address");
  return addresses_[host].front();
}

void SimNetwork::set_link(HostId from, HostId to, const LinkShape& shape) {
  PLNET_CHECK(from < hosts_.size() && to < hosts_.size(), "a link joins two hosts");
  links_[pair_of(from, to)].shape = shape;
}

void SimNetwork::reset_link(HostId from, HostId to) {
  links_.erase(pair_of(from, to));
}

void SimNetwork::block(HostId from, HostId to) {
  PLNET_CHECK(from < hosts_.size() && to < hosts_.size(), "a link joins two hosts");
  blocked_.insert(pair_of(from, to));
  tell_watchers(from, to);
}

void SimNetwork::unblock(HostId from, HostId to) {
  blocked_.erase(pair_of(from, to));
  tell_watchers(from, to);
}

void SimNetwork::block_both(HostId a, HostId b) {
  block(a, b);
  block(b, a);
}

void SimNetwork::unblock_both(HostId a, HostId b) {
  unblock(a, b);
  unblock(b, a);
}

void SimNetwork::set_present(HostId host, bool present) {
  PLNET_CHECK(host < hosts_.size(), "host was never added");
  if (hosts_[host].present && !present) ++absent_;
  if (!hosts_[host].present && present) --absent_;
  hosts_[host].present = present;
  PLNET_CHECK(absent_ <= hosts_.size(), "no more hosts are absent than exist");
  tell_watchers(host, kNoHost);
}

void SimNetwork::tell_watchers(HostId host, HostId other) {
  for (ReachabilitySink* watcher : watchers_)
    watcher->on_reachability(host, other);
}

bool SimNetwork::reaches_slowly(HostId from, HostId to) const {
  if (!hosts_[from].present || !hosts_[to].present) return false;
  return blocked_.empty() || !blocked_.contains(pair_of(from, to));
}

SimNetwork::Link* SimNetwork::own_link(HostId from, HostId to) {
  if (links_.empty()) return nullptr;
  const auto found = links_.find(pair_of(from, to));
  return found == links_.end() ? nullptr : &found->second;
}

Duration SimNetwork::draw_latency(const LinkShape& shape) {
  Duration latency = shape.latency_min + drawn_within(random_, shape.latency_spread);
  if (happens(random_, shape.slow)) latency += drawn_within(random_, shape.slow_spread);
  return latency;
}

Duration SimNetwork::latency(HostId from, HostId to) {
  if (from == to) return kLocalLatency;
  const Link* const own = own_link(from, to);
  return draw_latency(own == nullptr ? shape_ : own->shape);
}

// The time at which the last of so many bytes has left, behind earlier ones.
Instant SimNetwork::pass(Instant& free, Instant from, std::size_t bytes,
                         std::uint64_t bytes_per_second) {
  if (bytes_per_second == 0) return from;
  // Split so that a 4 GiB message times a billion does not overflow.
  const std::uint64_t whole = bytes / bytes_per_second;
  const std::uint64_t rest = bytes % bytes_per_second;
  const auto nanoseconds = static_cast<std::int64_t>(whole * 1'000'000'000ULL +
                                                     rest * 1'000'000'000ULL / bytes_per_second);
  free = std::max(free, from) + Duration{nanoseconds};
  return free;
}

// A host sends at its own rate to all peers. If a slow link slowed its sender, all neighbours of
// the sender would be slow, and the cause, network or program, would be hidden.
std::optional<Instant> SimNetwork::transit(HostId from, HostId to, std::size_t bytes) {
  PLNET_DEBUG_CHECK(from < hosts_.size() && to < hosts_.size(), "bytes go from host to host");
  if (!reaches(from, to)) return std::nullopt;
  if (from == to) return now() + kLocalLatency;
  const Instant leaves = pass(hosts_[from].egress_free, now(), bytes, shape_.bytes_per_second);
  Link* const own = own_link(from, to);
  if (own == nullptr) return leaves + draw_latency(shape_);
  return pass(own->free, leaves, bytes, own->shape.bytes_per_second) + draw_latency(own->shape);
}

}  // namespace plnet::drivers
