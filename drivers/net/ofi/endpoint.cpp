// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/ofi/endpoint.hpp"

#include <algorithm>
#include <array>

#include "lib/base/random.hpp"

namespace plnet::ofi {

namespace {

// A provider that takes fewer receives at a time gets fewer.
EndpointConfig fitted(EndpointConfig config, const fi_info& info) {
  config.limits.peer_contexts = kContextsMax;
  config.receive_slots = std::min<unsigned>(
      config.receive_slots, static_cast<unsigned>(std::max<std::size_t>(info.rx_attr->size, 1)));
  return config;
}

// The place is a part of the name: it is enough that each start has another seed.
Life life_of(std::uint64_t seed) {
  return SplitMix64(seed + 2).next() | 1U;
}

}  // namespace

Endpoint::Endpoint(const Device& device, const EndpointConfig& config,
                   kfilnd::EndpointEvents& events)
    : upper_(events),
      context_(fitted(config, device.info())),
      memory_(device.arenas(), config.bulk_blocks, config.bulk_bytes_max),
      emulation_(context_, memory_, device.config().addresses) {
  context_.own = {device.config().nic_address, device.config().service,
                  config.limits.receive_context};
}

Outcome<std::unique_ptr<Endpoint>> Endpoint::create(const Device& device,
                                                    const EndpointConfig& config,
                                                    kfilnd::EndpointEvents& events) {
  if (config.limits.receive_context >= kContextsMax)
    return failure(Errc::kOutOfRange, "receive_context: at most 15");
  if (config.limits.message_bytes_max < 512 || config.limits.operations_max == 0 ||
      config.tagged_max == 0 || config.buffers_max == 0 || config.receive_slots == 0 ||
      config.operation_time > std::chrono::hours(1))
    return failure(Errc::kInvalid, "a limit of an endpoint is 0, or too far from what makes sense");
  std::unique_ptr<Endpoint> made(new Endpoint(device, config, events));
  if (Outcome<void> opened = made->open(device); !opened)
    return std::unexpected(std::move(opened.error()));
  return made;
}

Outcome<void> Endpoint::open(const Device& device) {
  const EndpointConfig& config = context_.config;
  Transmitter& tx = emulation_.transmitter();
  const std::size_t reads = config.limits.operations_max + config.tagged_max;
  Outcome<void> opened =
      device.open_port(port_, config.limits.receive_context, life_of(config.seed),
                       tx.packets() + reads, std::size_t{2} * config.receive_slots);
  if (!opened) return opened;
  if (!memory_.add(port_.domain, *port_.info))
    return failure(Errc::kNoMemory, "fi_mr_reg: the bounce blocks were refused");
  const Region* const out = memory_.add(port_.domain, *port_.info, tx.memory());
  const Region* const in = memory_.add(port_.domain, *port_.info, emulation_.receiver().memory());
  if (out == nullptr || in == nullptr)
    return failure(Errc::kNoMemory, "fi_mr_reg: the packets were refused");
  emulation_.links().attach(port_.addresses);
  tx.attach(port_, *out);
  emulation_.receiver().attach(port_, *in);
  return port_.publish();
}

Endpoint::~Endpoint() {
  port_.hide();  // so that a peer that is told does not find it again
  if (port_.endpoint != nullptr && has_begun_) emulation_.announce_end();
  port_.close_endpoint();
  memory_.close();
}

void Endpoint::shut_down() {
  if (context_.shut_down) return;
  context_.shut_down = true;
  emulation_.shut_down();
  abort_due_ = context_.now + context_.config.operation_time * 2;
}

unsigned Endpoint::poll(Instant now) {
  context_.now = now;
  if (!has_begun_) emulation_.begin();
  has_begun_ = true;
  unsigned work = 0;
  if (port_.endpoint != nullptr) {
    // First the packets of the last turn: our answers to a peer and the requests of the upper layer
    // since then travel in one packet.
    emulation_.flush();
    work += emulation_.transmitter().poll(kBurst);
    work += emulation_.receiver().poll(kBurst);
    if (now >= abort_due_ && !quiet()) {
      port_.close_endpoint();
      emulation_.abort(Errc::kAborted);
    }
  }
  return work + tell();
}

unsigned Endpoint::tell() {
  unsigned told = 0;
  // Operations that the upper layer ends now are reported in the next turn.
  for (std::size_t left = context_.completions.size(); left > 0;) {
    std::array<kfilnd::FabricCompletion, kBurst> burst;
    const std::size_t count = std::min<std::size_t>(left, burst.size());
    for (std::size_t i = 0; i < count; ++i)
      burst[i] = context_.completions.pop();
    left -= count;
    told += static_cast<unsigned>(count);
    upper_.on_completions(std::span(burst).first(count));
  }
  return told;
}

}  // namespace plnet::ofi
