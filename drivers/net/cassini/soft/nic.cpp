// SPDX-License-Identifier: BSD-3-Clause
// The work of a NIC on each step.
#include "drivers/net/cassini/soft/nic.hpp"

#include "drivers/net/cassini/soft/layout_event.hpp"

namespace plnet::cassini::soft {
namespace {

constexpr unsigned kCommandsPerQueue = 64;  // in one step, so that each queue gets its turn

}  // namespace

Nic::Nic(const NicOptions& options)
    : tables_(options.limits, options.address, options.freedom, options.services),
      portals_(tables_),
      initiator_(tables_),
      services_(tables_.limits, tables_.resources, options.services),
      version_(options.version),
      traffic_classes_(options.traffic_classes),
      queues_(kFirstTargetQueue + options.limits.target_queues),
      eq_home_(options.limits.event_queues) {
  tables_.min_free_shift = options.min_free_shift;
  tables_.strict = options.strict;
}

void Nic::attach(Transport* transport, Carrier* carrier) {
  initiator_.set_transport(transport);
  carrier_ = carrier;
}

int Nic::read_atomic_remap() {
  if (host_files_ != nullptr) tables_.atomic_remap = host_files_->atomic_remap();
  return tables_.atomic_remap;
}

unsigned Nic::step(std::uint64_t now_ns) {
  tables_.now_ns = now_ns;
  const Freedom& freedom = tables_.freedom;
  if (freedom.torn_event > 0) settle_events();
  if (freedom.command_pause > 0 && tables_.random.chance(freedom.command_pause)) return 0;
  Random* const rejecting = freedom.low_latency_rejected > 0 ? &tables_.random : nullptr;
  if (!doorbells_.empty()) poll_doorbells();
  for (EventQueue* const eq : waited_for_)
    eq->tell_enabled();
  unsigned done = 0;
  const std::size_t count = active_.size();
  std::size_t at = first_ < count ? first_ : 0;
  first_ = 0;
  for (std::size_t i = 0; i < count; ++i) {
    CommandQueue* const queue = active_[at];
    if (++at == count) at = 0;
    bool waits = false;
    if (queue->poll(rejecting, freedom.low_latency_rejected)) done += run(*queue, waits);
    if (queue->stopped() && !queue->failure_told()) report_failure(*queue);
    if (waits && first_ == 0) first_ = at;
  }
  return done + initiator_.run_triggered();
}

unsigned Nic::run(CommandQueue& queue, bool& waits) {
  unsigned done = 0;
  while (done < kCommandsPerQueue) {
    const CommandView command = queue.next();
    if (command.at == nullptr) break;
    const Initiator::Done how = run_one(queue, command);
    waits = how == Initiator::Done::kWait;
    if (how != Initiator::Done::kDone) break;
    ++done;
  }
  queue.publish(true);
  if (done > 0) {
    tables_.stats.add(NicStats::Id::kCommands, done);
    if (!queue.setup.transmit) tables_.stats.add(NicStats::Id::kTargetCommands, done);
  }
  return done;
}

Initiator::Done Nic::run_one(CommandQueue& queue, const CommandView& command) {
  Initiator::Result result;
  // A doorbell that was rung before the queue's: stores of a process to its NIC arrive in order.
  if (command.type == CommandType::kCt && !doorbells_.empty()) poll_doorbells();
  if (queue.setup.transmit) {
    result = initiator_.execute(queue, command);
  } else {
    const ReturnCode code = portals_.command(command.opcode, command.at, queue.setup.group);
    if (code != ReturnCode::kOk) result = {Initiator::Done::kBad, code};
  }
  if (result.done == Initiator::Done::kBad) queue.stop(command, result.code);
  if (result.done == Initiator::Done::kDone) queue.consume(command);
  return result.done;
}

void Nic::report_failure(CommandQueue& queue) {
  queue.set_failure_told();
  EventQueue* const eq = tables_.eq(queue.setup.error_eq);
  if (eq == nullptr) return;
  using Failure = layout::CommandFailure;
  EventBuffer event;
  std::byte* base = event.data();
  Failure::CqId::set(
      base, queue.setup.transmit ? queue.setup.index : queue.setup.index - kFirstTargetQueue);
  Failure::IsTarget::set(base, queue.setup.transmit ? 0 : 1);
  Failure::FailLoc::set(base, queue.failed_slot());
  event.bytes[4] = static_cast<std::byte>(queue.failed_byte());
  Failure::EventKind::set(base, static_cast<std::uint64_t>(EventType::kCommandFailure));
  Failure::Code::set(base, static_cast<std::uint64_t>(queue.failure()));
  tables_.write(*eq, event, 16);
}

void Nic::settle_events() {
  for (const auto& eq : tables_.eqs) {
    if (eq && eq->torn() && tables_.random.chance(tables_.freedom.torn_event_settles)) eq->settle();
  }
}

void Nic::completed(const Message& message, const Completion& completion, const Outcome& outcome) {
  CommandQueue* const queue = command_queue(completion.queue);
  if (queue != nullptr && queue->setup.generation == completion.queue_generation)
    --queue->outstanding;
  initiator_.completed(message, completion, outcome);
}

Translated Nic::local_memory(const LocalBuffer& local, Operation operation, std::uint64_t offset,
                             std::uint64_t length) {
  const Group* const group = tables_.group(local.group);
  if (length == 0) return {};
  if (group == nullptr) return {nullptr, ReturnCode::kInvalidAc};
  const Access access = fetches(operation) ? Access::kWrite : Access::kRead;
  const Translated found = group->space.translate(local.lac, local.iova + offset, length, access);
  if (found.code != ReturnCode::kOk) tables_.stats.add(NicStats::Id::kTranslationFaults);
  if (found.requests > 0) tables_.stats.add(NicStats::Id::kPageRequests, found.requests);
  return found;
}

}  // namespace plnet::cassini::soft
