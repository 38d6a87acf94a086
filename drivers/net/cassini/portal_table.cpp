// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/portal_table.hpp"

#include "drivers/net/cassini/commands.hpp"

namespace plnet::cassini {

void PortalTable::read_drops() {
  // Cold: a disabled portal receives nothing anyway.
  const auto status = backend_->portal_status(portal_.handle);
  if (!status) stats_->add(CassiniCounters::Id::kBackendFailures);
  drop_count_ = status ? status->drop_count : kIgnoreDrops;
}

void PortalTable::on_state_change(const StateChangeEvent& event, Instant now) {
  state_ = static_cast<PortalState>(event.ptlte_state);
  asked_ = false;
  if (enabled()) return;
  stats_->add(CassiniCounters::Id::kPortalDisabled);
  read_drops();
  due_ = now + kRetry;
}

void PortalTable::poll(CommandQueue& targets, Instant now) {
  if (backend_ == nullptr || enabled() || now < due_) return;
  if (asked_) {
    stats_->add(CassiniCounters::Id::kPortalAskedAgain);
    asked_ = false;
    if (state_ != PortalState::kReset) read_drops();  // drops continued meanwhile
  }
  const SetStateCommand command{
      .command = command_byte(CommandType::kQueue, SizeCode::k64, opcode::kSetState),
      .ptlte_state = static_cast<std::uint8_t>(PortalState::kEnabled),
      .ptlte_index = static_cast<std::uint16_t>(portal_.number),
      .drop_count = drop_count_};
  asked_ = targets.push(command);
  if (asked_) due_ = now + kAnswerTime;
}

}  // namespace plnet::cassini
