// SPDX-License-Identifier: BSD-3-Clause
// The sending half of a NIC: executes the commands of transmit queues and reports the end of each
// operation to the process.
#pragma once

#include "drivers/net/cassini/soft/atomic.hpp"
#include "drivers/net/cassini/soft/command_queue.hpp"
#include "drivers/net/cassini/soft/tables.hpp"
#include "drivers/net/cassini/soft/triggered.hpp"

namespace plnet::cassini::soft {

// Brings a message to its target: whole in one step, later and out of turn, or in packets.
class Transport {
 public:
  virtual ~Transport() = default;
  // Also atomic operations and rendezvous, which are not packets of ours.
  [[nodiscard]] virtual bool carries_all() const { return false; }
  // Room for one more; false: the command waits.
  [[nodiscard]] virtual bool ready(NicAddress from) = 0;
  // The operation ends, now or later, in Nic::completed() of the NIC that began it.
  virtual void start(NicAddress from, const Message& message, const LocalBuffer& local,
                     const Completion& completion) = 0;
};

// Shared by the commands that name a destination and a completion.
template <class Layout>
void read_flags(const std::byte* at, Completion& completion) {
  completion.send_disable = Layout::EventSendDisable::get(at) != 0;
  completion.success_disable = Layout::EventSuccessDisable::get(at) != 0;
  completion.ct_send = Layout::EventCtSend::get(at) != 0;
  completion.ct_reply = Layout::EventCtReply::get(at) != 0;
  completion.ct_ack = Layout::EventCtAck::get(at) != 0;
  completion.ct_bytes = Layout::EventCtBytes::get(at) != 0;
  completion.ct = static_cast<std::uint16_t>(Layout::Ct::get(at));
  completion.eq = static_cast<std::uint16_t>(Layout::Eq::get(at));
}

template <class Layout>
void read_destination(const std::byte* at, std::uint64_t index_ext, Message& message) {
  const std::uint64_t endpoint = Layout::EndpointDefined::get(at);
  message.destination = static_cast<NicAddress>(Layout::Nid::get(at));
  message.pid = static_cast<std::uint16_t>(endpoint & kPidAnyValue);
  message.index = index_of(endpoint, index_ext);
}

class Initiator {
 public:
  explicit Initiator(Tables& tables) : tables_(tables), triggered_(tables.limits.counters) {}
  void set_transport(Transport* transport) { transport_ = transport; }

  enum class Done : std::uint8_t { kDone, kWait, kBad };
  struct Result {
    Done done = Done::kDone;
    ReturnCode code = ReturnCode::kOk;
  };
  [[nodiscard]] Result execute(CommandQueue& queue, const CommandView& command);
  // The operation has ended; `message` and `completion` are those of start().
  void completed(const Message& message, const Completion& completion, const Outcome& outcome);

  // Cold: a queue that may hold triggered commands comes, or a queue goes.
  void make_room_for_triggered() { triggered_.make_room(tables_.limits.triggered); }
  void forget(const CommandQueue& queue);
  // Triggered commands of a counting event, all (null) or those of a queue, will not be executed.
  void forget(unsigned counter, const CommandQueue* queue);
  // Executes a bounded number of triggered commands that are due. Returns how many.
  unsigned run_triggered();

 private:
  [[nodiscard]] Result dma(CommandQueue& queue, const CommandView& command);
  [[nodiscard]] Result immediate(CommandQueue& queue, const CommandView& command);
  // initiator_atomic.cpp
  [[nodiscard]] Result atomic_dma(CommandQueue& queue, const CommandView& command);
  [[nodiscard]] Result atomic_immediate(CommandQueue& queue, const CommandView& command);
  [[nodiscard]] Result start_atomic(CommandQueue& queue, const Message& message,
                                    const LocalBuffer& result, const AtomicRequest& request,
                                    const Completion& completion);
  // initiator_triggered.cpp
  [[nodiscard]] Result counting(CommandQueue& queue, const CommandView& command);
  [[nodiscard]] Result arm(CommandQueue& queue, const CommandView& command);
  [[nodiscard]] CountingEvent* counter_of(unsigned number, unsigned group);
  [[nodiscard]] bool fire(const Triggered::Entry& entry, unsigned counter);
  void triggered_event(const Triggered::Entry& entry, unsigned counter);
  void give_back(const Triggered::Entry& entry);
  [[nodiscard]] Result control(CommandQueue& queue, const CommandView& command);
  // Commands that our driver does not know are refused by a strict NIC.
  [[nodiscard]] bool knows_all() const { return !tables_.strict && transport_->carries_all(); }
  [[nodiscard]] bool known(const Completion& completion, unsigned group) const;
  [[nodiscard]] Result start(CommandQueue& queue, const Message& message, const LocalBuffer& local,
                             const Completion& completion);
  void event(const Completion& completion, EventType type, const Outcome& outcome);

  Tables& tables_;
  Triggered triggered_;
  Transport* transport_ = nullptr;
};

}  // namespace plnet::cassini::soft
