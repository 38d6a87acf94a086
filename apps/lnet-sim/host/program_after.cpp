// SPDX-License-Identifier: BSD-3-Clause
// Operations after the site is healed: short ones, with memory that every node has attached for
// them.
#include <algorithm>

#include "apps/lnet-sim/host/host.hpp"
#include "apps/lnet-sim/host/program.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

constexpr std::uint32_t kAfterBytes = 64;
constexpr std::uint64_t kPutBits = 1;
constexpr std::uint64_t kGetBits = 2;

std::uint64_t after_content(std::uint32_t node) {
  return 0xaf7e'0000'0000ULL + node;
}

}  // namespace

bool Program::attach_after() {
  for (const std::uint64_t bits : {kPutBits, kGetBits}) {
    Record* const record = take_record(Record::Kind::kAfter, host_.slots().bytes());
    if (record == nullptr) return false;
    host_.slots().fill(record->slot, record->length, {after_content(host_.number()), 0, 0});
    const unsigned may = bits == kPutBits ? kMdPut : kMdGet;
    if (!attach(*record, {.portal = kAfterPortal, .match_bits = bits},
                {.options = may | kMdManageRemote | kMdTruncate})) {
      return false;
    }
  }
  host_.ring(shard_);
  return true;
}

bool Program::begin_after(const Host& there, Story story, Instant now) {
  Operation* const operation = new_operation(now);
  if (operation == nullptr) return false;
  const Nid& nid = there.nid_for(host_, random_);
  operation->story = story;
  operation->initiator = host_.number();
  operation->target = there.number();
  operation->shard = shard_;
  operation->length = operation->room = std::min(kAfterBytes, host_.slots().bytes());
  operation->ack_wanted = true;
  operation->content = after_content(is_get(story) ? there.number() : host_.number());
  operation->entry = is_get(story) ? kGetBits : kPutBits;
  Record* const record = bind_for(*operation, 2);
  bool begun = record != nullptr;
  const ProcessId target{nid, kLustrePid};
  if (begun && is_get(story)) {
    begun = began(*record, lnet_.get(record->md, {.target = target,
                                                  .portal = kAfterPortal,
                                                  .match_bits = operation->entry}));
  } else if (begun) {
    host_.slots().fill(record->slot, operation->length, {operation->content, 0, 0});
    begun = began(*record, lnet_.put(record->md, {.target = target,
                                                  .portal = kAfterPortal,
                                                  .match_bits = operation->entry,
                                                  .header_data = ledger_.id_of(*operation),
                                                  .ack = true}));
  }
  host_.ring(shard_);
  if (!begun) {
    ledger_.cancel_begin(*operation);
    return false;
  }
  ++under_way_;
  return true;
}

}  // namespace plnet::sim
