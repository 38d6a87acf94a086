// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-traffic/target.hpp"

#include "apps/lnet-traffic/pattern.hpp"
#include "apps/lnet-traffic/protocol.hpp"

namespace plnet::traffic {

using lnet::Event;
using lnet::EventKind;

namespace {

constexpr std::uint64_t kAnyBits = ~std::uint64_t{0};

}  // namespace

Target::Target(const ArenaTable& arenas, std::span<const Fragment> put_memory, Fragment get_memory,
               Seen& seen, TrafficCounters& counters)
    : arenas_(arenas),
      buffers_(put_memory.begin(), put_memory.end()),
      read_(get_memory),
      seen_(seen),
      counters_(counters) {
  fill_pattern(arenas_.bytes(read_), kGetKey);
}

Result<void> Target::attach_memory(lnet::DataOperations& lnet) {
  lnet_ = &lnet;
  for (Fragment& buffer : buffers_) {
    if (auto done = attach_memory(buffer); !done) return done;
  }
  const auto read = lnet.attach({.portal = kGetPortal, .ignore_bits = kAnyBits},
                                {.fragments = std::span(&read_, 1),
                                 .length = read_.length,
                                 .options = lnet::kMdGet | lnet::kMdManageRemote,
                                 .handler = this});
  if (!read) return std::unexpected(read.error());
  return {};
}

// Attaches the buffer for one message.
Result<void> Target::attach_memory(Fragment& buffer) {
  const auto open = lnet_->attach({.portal = kPutPortal, .ignore_bits = kAnyBits},
                                  {.fragments = std::span(&buffer, 1),
                                   .length = buffer.length,
                                   .threshold = 1,
                                   .options = lnet::kMdPut,
                                   .user = &buffer,
                                   .handler = this});
  if (!open) return std::unexpected(open.error());
  return {};
}

void Target::on_event(const Event& event) {
  if (event.kind == EventKind::kGet) return counters_.add(TrafficId::kServed);
  if (event.kind != EventKind::kPut) return;  // unlinked
  auto& buffer = *static_cast<Fragment*>(event.user);
  if (event.status) {
    look_at(event, buffer);
  } else {
    counters_.add(TrafficId::kBroken);
  }
  PLNET_CHECK(event.unlinked, "a buffer is for one message");
  if (lnet_ == nullptr) return;
  const auto open = attach_memory(buffer);
  PLNET_CHECK(open.has_value(), "the descriptor that has just been freed is there to be used");
}

void Target::look_at(const Event& event, const Fragment& buffer) {
  const PutLabel label = PutLabel::of(event.header_data);
  const Fragment got{{buffer.at.arena, buffer.at.offset + event.offset}, event.accepted_length};
  counters_.add(TrafficId::kDelivered);
  if (event.match_bits == 0 || label.length != event.accepted_length ||
      !is_pattern(arenas_.bytes(got), pattern_key(event.match_bits, label.sequence))) {
    return counters_.add(TrafficId::kCorrupt);
  }
  switch (seen_.note(event.match_bits, label.sequence)) {
    case Seen::Verdict::kFirst: return;
    case Seen::Verdict::kAgain: return counters_.add(TrafficId::kTwice);
    case Seen::Verdict::kUntracked: return counters_.add(TrafficId::kUntracked);
  }
}

}  // namespace plnet::traffic
