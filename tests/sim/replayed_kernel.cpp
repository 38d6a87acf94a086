// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/replayed_kernel.hpp"

#include <algorithm>
#include <array>

#include "lib/base/check.hpp"
#include "tests/sim/accepting.hpp"

namespace plnet::sim {

namespace {

constexpr std::uint16_t kReservedPortMin = 512;
constexpr std::uint16_t kReservedPortMax = 1023;

socklnd::SocketAddress address_of(const lnet::Nid& nid, std::uint16_t port) {
  return {drivers::mapped_ipv4(nid.address32()), port};
}

}  // namespace

ReplayedKernel::ReplayedKernel(drivers::SimStreamFabric& fabric, drivers::SimShard& shard,
                               const lnet::Nid& nid)
    : nid_(nid),
      driver_(std::make_unique<drivers::SimStreamDriver>(fabric, shard.host(), *this, shard)) {
  shard.add(*driver_);
  PLNET_CHECK(driver_->listen(address_of(nid, kAcceptPort), kBacklog, {}).has_value(), "free");
}

ReplayedKernel::Link* ReplayedKernel::find(socklnd::StreamId stream) {
  const auto at = std::ranges::find_if(links_, [&](const auto& l) { return l->stream == stream; });
  return at == links_.end() ? nullptr : at->get();
}

void ReplayedKernel::dial(const lnet::Nid& to, std::uint16_t from_port) {
  auto& link = links_.emplace_back(std::make_unique<Link>(false));
  socklnd::ConnectRequest request;
  request.addresses = {address_of(nid_, from_port), address_of(to, kAcceptPort)};
  const auto stream = driver_->connect(request);
  PLNET_CHECK(stream.has_value(), "the ports of the script are free");
  link->stream = *stream;
}

void ReplayedKernel::say(unsigned connection, std::span<const std::byte> bytes) {
  Link& link = *links_[connection];
  link.unsent.insert(link.unsent.end(), bytes.begin(), bytes.end());
  push(link);
}

void ReplayedKernel::push(Link& link) {
  while (link.connected && !link.unsent.empty()) {
    std::array<std::byte, 4096> piece{};
    const std::size_t size = std::min(piece.size(), link.unsent.size());
    const auto end = link.unsent.begin() + static_cast<std::ptrdiff_t>(size);
    std::copy(link.unsent.begin(), end, piece.begin());
    const std::array<std::span<const std::byte>, 1> pieces{std::span(piece).first(size)};
    const std::size_t taken = driver_->write(link.stream, pieces);
    link.unsent.erase(link.unsent.begin(),
                      link.unsent.begin() + static_cast<std::ptrdiff_t>(taken));
    if (taken < size) return;  // on_writable() follows
  }
}

bool ReplayedKernel::all_taken() const {
  return std::ranges::all_of(links_, [](const auto& link) {
    return link->unsent.empty() && link->heard.rest() == 0 && link->heard.items().empty();
  });
}

std::span<std::byte> ReplayedKernel::destination(socklnd::StreamId /*stream*/) {
  return {};
}

std::size_t ReplayedKernel::on_bytes(socklnd::StreamId stream, std::size_t /*direct*/,
                                     std::span<const std::byte> staged) {
  if (Link* const link = find(stream)) link->heard.take(staged);
  return staged.size();
}

void ReplayedKernel::on_writable(socklnd::StreamId stream) {
  if (Link* const link = find(stream)) push(*link);
}

void ReplayedKernel::on_connected(socklnd::StreamId stream,
                                  const socklnd::StreamAddresses& /*addresses*/) {
  if (Link* const link = find(stream)) {
    link->connected = true;
    push(*link);
  }
}

void ReplayedKernel::on_accepted(socklnd::StreamId stream,
                                 const socklnd::StreamAddresses& addresses) {
  auto& link = links_.emplace_back(std::make_unique<Link>(true));
  link->stream = stream;
  link->connected = true;
  const std::uint16_t port = addresses.remote.port;
  reserved_ = reserved_ && port >= kReservedPortMin && port <= kReservedPortMax;
}

void ReplayedKernel::on_closed(socklnd::StreamId /*stream*/, Errc /*cause*/,
                               std::uint64_t /*unacknowledged*/) {
  ++closed_;
}

}  // namespace plnet::sim
