// SPDX-License-Identifier: BSD-3-Clause
#include "bench/drivers/cassini_link_node.hpp"

#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::bench {

using cassini::soft::NicAddress;

Outcome<std::unique_ptr<LinkNode>> LinkNode::start(const LinkNodeOptions& options) {
  auto node = std::unique_ptr<LinkNode>(new LinkNode());
  runtime::EalRequest request;
  request.lcores = {{.shard = 0, .cpu = options.cpu}};
  request.main_cpus = {options.cpu};
  request.memory_mib = 64;
  request.extra = {"--vdev=" + options.vdev};
  // Small pages: several of these run in parallel on a machine whose huge pages may be reserved for
  // others.
  request.log = [](runtime::EalLevel level, std::string_view line) {
    if (level == runtime::EalLevel::kError)
      (void)std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
  };
  auto eal = runtime::Eal::start(request, {});
  if (!eal) return std::unexpected(std::move(eal.error()));
  node->eal_ = std::move(*eal);
  cassini::soft::WireEthdevOptions wire_options = options.wire;
  wire_options.port = options.vdev.substr(0, options.vdev.find(','));
  auto wire = cassini::soft::WireEthdev::open(wire_options);
  if (!wire) return std::unexpected(std::move(wire.error()));
  node->wire_ = std::move(*wire);
  auto faults = cassini::soft::FrameFaults::attach(wire_options.port, {});
  if (!faults) return std::unexpected(std::move(faults.error()));
  node->faults_ = std::move(*faults);
  node->payload_.resize(node->wire_->packet_bytes_max());
  return node;
}

bool LinkNode::send(NicAddress to, std::uint64_t number, std::size_t bytes) {
  PLNET_CHECK(bytes >= kNumberBytes && bytes <= payload_.size(), "a packet that fits");
  std::byte header[kNumberBytes];
  std::memcpy(header, &number, sizeof number);
  const std::span<std::byte> rest = std::span(payload_).first(bytes - kNumberBytes);
  if (checks && !rest.empty())
    std::memset(rest.data(), static_cast<int>(number & 0xff), rest.size());
  return wire_->send(to, header, rest);
}

void LinkNode::on_packet(NicAddress from, std::span<const std::byte> packet) {
  std::uint64_t number = 0;
  if (packet.size() < sizeof number) {
    ++damaged;
    return;
  }
  std::memcpy(&number, packet.data(), sizeof number);
  if (checks) {
    for (const std::byte byte : packet.subspan(sizeof number)) {
      if (byte == static_cast<std::byte>(number & 0xff)) continue;
      ++damaged;
      break;
    }
  }
  if (on_number) on_number(from, number);
}

void LinkNode::on_link(bool up, NicAddress) {
  is_up = up;
  if (up) ++links_up;
}

}  // namespace plnet::bench
