// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/fault_wire.hpp"

#include <algorithm>

namespace plnet::cassini::soft {
namespace {

constexpr std::size_t kLongest = 65536;  // a wire of whole messages has no limit

std::span<std::byte> joined(std::span<std::byte> into, std::span<const std::byte> header,
                            std::span<const std::byte> payload) {
  std::ranges::copy(header, into.begin());
  std::ranges::copy(payload, into.begin() + static_cast<std::ptrdiff_t>(header.size()));
  return into.first(header.size() + payload.size());
}

}  // namespace

FaultWire::FaultWire(Wire& below, const FaultWireOptions& wanted)
    : options(wanted),
      below_(below),
      random_(wanted.seed),
      bytes_max_(std::min(below.packet_bytes_max(), kLongest)),
      memory_(kKept * bytes_max_) {}

bool FaultWire::keep(NicAddress to, std::span<const std::byte> header,
                     std::span<const std::byte> payload) {
  for (std::size_t i = 0; i < kKept; ++i) {
    if (kept_[i].bytes != 0) continue;
    kept_[i] = {.bytes = joined(place(i), header, payload).size(), .to = to, .polls = 0};
    return true;
  }
  return false;
}

bool FaultWire::send(NicAddress to, std::span<const std::byte> header,
                     std::span<const std::byte> payload) {
  using Id = FaultWireCounters::Id;
  if (cut || random_.chance(options.drop)) {
    stats_.add(Id::kDropped);
    return true;
  }
  const bool fits = header.size() + payload.size() <= bytes_max_;
  if (fits && random_.chance(options.late) && keep(to, header, payload)) {
    stats_.add(Id::kLate);
    return true;
  }
  if (!below_.send(to, header, payload)) return false;
  stats_.add(Id::kPassed);
  if (random_.chance(options.duplicate) && below_.send(to, header, payload))
    stats_.add(Id::kDuplicated);
  return true;
}

unsigned FaultWire::poll(std::uint64_t now_ns, WireEvents& events) {
  for (std::size_t i = 0; i < kKept; ++i) {
    Kept& one = kept_[i];
    if (one.bytes == 0 || ++one.polls < 1 + random_.below(kPollsLate)) continue;
    if (cut || below_.send(one.to, place(i).first(one.bytes), {})) one.bytes = 0;
  }
  if (!cut) return below_.poll(now_ns, events);
  class Deaf final : public WireEvents {
   public:
    explicit Deaf(WireEvents& above) : above_(above) {}
    void on_packet(NicAddress, std::span<const std::byte>) override {}
    void on_link(bool up, NicAddress own) override { above_.on_link(up, own); }

   private:
    WireEvents& above_;
  } deaf(events);
  return below_.poll(now_ns, deaf);
}

}  // namespace plnet::cassini::soft
