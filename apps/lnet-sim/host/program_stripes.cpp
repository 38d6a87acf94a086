// SPDX-License-Identifier: BSD-3-Clause
// Descriptors with offsets of the initiators: one for several PUTs, each into its own stripe.
#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "apps/lnet-sim/host/host.hpp"
#include "apps/lnet-sim/host/program.hpp"

namespace plnet::sim {

using namespace lnet;

bool Program::attach_stripe(Operation& operation) {
  const std::uint32_t stripe = host_.slots().bytes() / kStripes;
  const bool open = managed_ != nullptr && managed_->live && managed_->id == managed_id_;
  if (!open || stripes_out_ == kStripes) {
    managed_ = take_record(Record::Kind::kManaged, stripe * kStripes);
    if (managed_ == nullptr) return false;
    managed_id_ = managed_->id = ledger_.id_of(operation);
    stripes_out_ = 0;
    const MdSpec md{.threshold = kStripes, .options = kMdPut | kMdManageRemote | kMdTruncate};
    if (!attach(*managed_, {.portal = kManagedPortal, .match_bits = managed_id_}, md)) {
      managed_ = nullptr;
      return false;
    }
  }
  // At any offset of its stripe; in the last stripe it may exceed the end and is truncated.
  const bool last = stripes_out_ + 1 == kStripes;
  const std::uint32_t slack = last ? stripe : stripe - std::min(stripe, operation.length) + 1;
  operation.entry = managed_id_;
  operation.entry_shard = shard_;
  operation.offset = stripes_out_++ * stripe + static_cast<std::uint32_t>(random_.below(slack));
  operation.room = managed_->length - operation.offset;
  return true;
}

// Each PUT's bytes are in its own stripe, so no offset led into another one.
void Program::check_stripes(const Record& record) {
  for (const Landed& each : std::span(record.landed).first(record.landed_count)) {
    if (!host_.slots().holds(record.slot, each.offset, {each.content, 0, each.length})) {
      ledger_.violate(fmt::format("overwritten by another: operation {:#x}, {} bytes at {}",
                                  each.content, each.length, each.offset));
    }
  }
}

}  // namespace plnet::sim
