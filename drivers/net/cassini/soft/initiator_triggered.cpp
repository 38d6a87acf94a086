// SPDX-License-Identifier: BSD-3-Clause
// Commands for counting events, at once or when another counting event has reached a threshold.
#include "drivers/net/cassini/soft/initiator.hpp"
#include "drivers/net/cassini/soft/layout_command.hpp"
#include "drivers/net/cassini/soft/layout_event.hpp"

namespace plnet::cassini::soft {
namespace {

using Ct = layout::Counting;

constexpr std::size_t kEmbedded = Ct::kBytes;  // where the DMA command of a TRIG_DMA begins
constexpr unsigned kFiredPerStep = 256;        // counting events may trigger one another for ever

bool is_triggered(unsigned opcode) {
  return opcode >= static_cast<unsigned>(CtOpcode::kTriggeredDma);
}

CommandView embedded(const CommandView& command) {
  const std::byte* const at = command.at + kEmbedded;
  return {.at = at,
          .bytes = kUnitBytes << layout::Command::CmdSize::get(at),
          .type = CommandType::kDma,
          .opcode = static_cast<unsigned>(layout::Command::Opcode::get(at))};
}

// A DMA command that the queue itself would take, and that lies in the outer one: a PUT, a GET, or
// an atomic operation, whose command ends before its slot does.
bool is_whole(const CommandView& outer) {
  const CommandView inner = embedded(outer);
  const auto type = static_cast<CommandType>(layout::Command::CmdType::get(inner.at));
  if (outer.bytes != sizeof Triggered::Entry::command || type != CommandType::kDma) return false;
  switch (static_cast<DmaOpcode>(inner.opcode)) {
    case DmaOpcode::kPut:
    case DmaOpcode::kGet:
    case DmaOpcode::kRendezvousPut: return inner.bytes == layout::FullDma::kBytes;
    case DmaOpcode::kNomatchPut:
    case DmaOpcode::kNomatchGet: return inner.bytes == layout::NomatchDma::kBytes;
    case DmaOpcode::kAtomic:
    case DmaOpcode::kFetchingAtomic: return inner.bytes == layout::DmaAtomic::kBytes;
    default: return false;
  }
}

void change(const std::byte* command, bool adds, CountingEvent& counter) {
  const std::uint64_t successes = Ct::CtSuccess::get(command);
  const std::uint64_t failures = Ct::CtFailure::get(command);
  if (adds) {
    counter.success = (counter.success + successes) & CountingEvent::kSuccessMax;
    if (failures != 0) Tables::add_failures(counter, failures);
    return;
  }
  if (Ct::SetCtSuccess::get(command) != 0) counter.success = successes;
  if (Ct::SetCtFailure::get(command) != 0) counter.failure = failures;
  counter.write_back();
}

}  // namespace

CountingEvent* Initiator::counter_of(unsigned number, unsigned group) {
  CountingEvent* const counter = tables_.counter(number);
  return counter != nullptr && counter->group == group ? counter : nullptr;
}

Initiator::Result Initiator::counting(CommandQueue& queue, const CommandView& command) {
  if (is_triggered(command.opcode)) return arm(queue, command);
  const auto number = static_cast<unsigned>(Ct::Ct::get(command.at));
  CountingEvent* const counter = counter_of(number, queue.setup.group);
  if (counter == nullptr) return {Done::kBad, ReturnCode::kCmdInvalidArg};
  switch (static_cast<CtOpcode>(command.opcode)) {
    case CtOpcode::kSet: change(command.at, false, *counter); break;
    case CtOpcode::kInc: change(command.at, true, *counter); break;
    case CtOpcode::kGet: counter->write_back(); break;
    case CtOpcode::kCancel: forget(number, nullptr); break;
    default: return {Done::kBad, ReturnCode::kIllegalOp};
  }
  return {};
}

// Only a queue that was made for them keeps triggered commands.
Initiator::Result Initiator::arm(CommandQueue& queue, const CommandView& command) {
  const unsigned group = queue.setup.group;
  const auto number = static_cast<unsigned>(Ct::TrigCt::get(command.at));
  const auto opcode = static_cast<CtOpcode>(command.opcode);
  if (!queue.setup.triggered) return {Done::kBad, ReturnCode::kIllegalOp};
  if (counter_of(number, group) == nullptr) return {Done::kBad, ReturnCode::kCmdInvalidArg};
  const bool changes = opcode == CtOpcode::kTriggeredSet || opcode == CtOpcode::kTriggeredInc;
  if (changes && counter_of(static_cast<unsigned>(Ct::Ct::get(command.at)), group) == nullptr)
    return {Done::kBad, ReturnCode::kCmdInvalidArg};
  if (opcode == CtOpcode::kTriggeredDma && !is_whole(command))
    return {Done::kBad, ReturnCode::kCmdInvalidArg};
  const auto eq = static_cast<unsigned>(Ct::Eq::get(command.at));
  if (opcode == CtOpcode::kTriggeredEvent && eq != 0 &&
      (tables_.eq(eq) == nullptr || tables_.eq_group[eq] != group))
    return {Done::kBad, ReturnCode::kCmdInvalidArg};
  if (triggered_.full() ||
      !tables_.resources.take(tables_.group(group)->service_row, Resource::kTriggered))
    return {Done::kWait, ReturnCode::kOk};
  triggered_.add(number, Ct::Threshold::get(command.at), queue, command);
  return {};
}

void Initiator::forget(unsigned counter, const CommandQueue* queue) {
  triggered_.remove_if(counter, [&](const Triggered::Entry& entry) {
    if (queue != nullptr && entry.queue != queue) return false;
    give_back(entry);
    return true;
  });
}

void Initiator::forget(const CommandQueue& queue) {
  const std::vector<std::uint16_t> counters = triggered_.waiting();
  for (const std::uint16_t counter : counters)
    forget(counter, &queue);
}

void Initiator::give_back(const Triggered::Entry& entry) {
  tables_.resources.give(tables_.group(entry.queue->setup.group)->service_row,
                         Resource::kTriggered);
}

// False: the operation waits for room.
bool Initiator::fire(const Triggered::Entry& entry, unsigned counter) {
  const std::byte* const at = entry.command.data();
  CommandQueue& queue = *entry.queue;
  CountingEvent* const target =
      counter_of(static_cast<unsigned>(Ct::Ct::get(at)), queue.setup.group);
  switch (static_cast<CtOpcode>(entry.opcode)) {
    case CtOpcode::kTriggeredSet:
      if (target != nullptr) change(at, false, *target);
      return true;
    case CtOpcode::kTriggeredInc:
      if (target != nullptr) change(at, true, *target);
      return true;
    case CtOpcode::kTriggeredDma: {
      const Result result = dma(queue, embedded(entry.view()));
      if (result.done == Done::kBad) tables_.stats.add(NicStats::Id::kCommandFailures);
      return result.done != Done::kWait;
    }
    default: triggered_event(entry, counter); return true;
  }
}

void Initiator::triggered_event(const Triggered::Entry& entry, unsigned counter) {
  if (const CountingEvent* const reached = tables_.counter(counter); reached != nullptr)
    reached->write_back();
  EventQueue* const eq = tables_.eq(static_cast<unsigned>(Ct::Eq::get(entry.command.data())));
  if (eq == nullptr) return;
  using Event = layout::TriggeredEvent;
  EventBuffer event;
  Event::Threshold::set(event.data(), entry.threshold);
  Event::Ct::set(event.data(), counter);
  Event::EventKind::set(event.data(), static_cast<std::uint64_t>(EventType::kTriggered));
  Event::Code::set(event.data(), static_cast<std::uint64_t>(ReturnCode::kOk));
  tables_.write(*eq, event, Event::kBytes);
}

unsigned Initiator::run_triggered() {
  unsigned fired = 0;
  for (std::size_t i = 0; i < triggered_.waiting().size();) {
    const unsigned number = triggered_.waiting()[i];
    const CountingEvent* const counter = tables_.counter(number);
    const Triggered::Entry* const entry =
        counter == nullptr ? nullptr : triggered_.due(number, counter->success);
    if (entry == nullptr || fired >= kFiredPerStep || !fire(*entry, number)) {
      ++i;
      continue;
    }
    ++fired;
    give_back(*entry);
    triggered_.remove_first(number);
  }
  return fired;
}

}  // namespace plnet::cassini::soft
