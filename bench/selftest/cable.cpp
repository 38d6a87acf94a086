// SPDX-License-Identifier: BSD-3-Clause
#include "bench/selftest/cable.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::bench {

using lnet::RxVerdict;

std::size_t CableLnd::send(std::span<lnet::Transmit* const> burst) {
  std::size_t count = 0;
  for (; count < burst.size() && done_count_ < kBurst; ++count) {
    CableFrame frame;
    copy_out(*burst[count], frame);
    if (!out_.push(frame)) break;
    link_ = burst[count]->next_hop;
    done_[done_count_++] = {.transmit = burst[count]};
  }
  return count;
}

void CableLnd::copy_out(const lnet::Transmit& transmit, CableFrame& frame) const {
  frame.header = transmit.header;
  PLNET_CHECK(transmit.source.length <= CableFrame::kPayloadBytes, "a cable is for small messages");
  std::size_t at = 0;
  lnet::for_each_piece(transmit.source, [&](const Fragment& piece) {
    const auto bytes = arenas_.bytes(piece);
    std::ranges::copy(bytes, frame.payload.begin() + static_cast<std::ptrdiff_t>(at));
    at += bytes.size();
  });
}

void CableLnd::copy_in(const lnet::RxDecision& decision) const {
  std::size_t at = 0;
  const lnet::Payload wanted{decision.target.fragments, decision.target.offset, decision.length};
  lnet::for_each_piece(wanted, [&](const Fragment& piece) {
    const auto bytes = arenas_.bytes(piece);
    std::ranges::copy(std::span(frame_.payload).subspan(at, bytes.size()), bytes.begin());
    at += bytes.size();
  });
}

void CableLnd::resume(lnet::RxHandle rx, const lnet::RxDecision& decision) {
  PLNET_CHECK(parked_ && rx.generation == generation_, "nothing else is parked");
  decision_ = decision;
  resumed_ = true;
}

unsigned CableLnd::flush(Instant /*now*/) {
  const auto sent = static_cast<unsigned>(done_count_);
  report_sent();
  if (resumed_) {
    parked_ = resumed_ = false;
    carry_out(decision_);
  }
  unsigned taken = 0;
  while (taken < kBurst && !parked_ && in_.pop(frame_)) {
    take_frame();
    ++taken;
  }
  return sent + taken;
}

void CableLnd::report_sent() {
  const std::size_t count = std::exchange(done_count_, 0);
  if (count > 0) core_.on_sent({done_.data(), count});
}

void CableLnd::take_frame() {
  const lnet::RxDecision decision = core_.on_header({.header = frame_.header,
                                                     .from = frame_.header.source,
                                                     .link = link_,
                                                     .rx = {0, ++generation_}});
  if (decision.link != nullptr) link_ = decision.link;
  parked_ = decision.verdict == RxVerdict::kPark;
  if (!parked_) carry_out(decision);
}

void CableLnd::carry_out(const lnet::RxDecision& decision) {
  if (decision.link != nullptr) link_ = decision.link;
  if (decision.verdict != RxVerdict::kReceive) return;
  copy_in(decision);
  core_.on_received({0, generation_}, {}, Health::kOk);
}

}  // namespace plnet::bench
