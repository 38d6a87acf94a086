// SPDX-License-Identifier: BSD-3-Clause
// The sending half of a NIC: executes the commands of transmit queues and reports the end of each
// operation to the process.
#pragma once

#include "drivers/net/cassini/soft/command_queue.hpp"
#include "drivers/net/cassini/soft/tables.hpp"

namespace plnet::cassini::soft {

// Brings a message to its target: whole in one step, later and out of order, or in packets.
class Transport {
 public:
  virtual ~Transport() = default;
  // True if there is room for another operation; false: the command waits.
  [[nodiscard]] virtual bool ready(NicAddress from) = 0;
  // The operation ends, now or later, in Nic::completed() of the NIC that began it.
  virtual void start(NicAddress from, const Message& message, const LocalBuffer& local,
                     const Completion& completion) = 0;
};

class Initiator {
 public:
  explicit Initiator(Tables& tables) : tables_(tables) {}
  void set_transport(Transport* transport) { transport_ = transport; }

  enum class Done : std::uint8_t { kDone, kWait, kBad };
  struct Result {
    Done done = Done::kDone;
    ReturnCode code = ReturnCode::kOk;
  };
  [[nodiscard]] Result execute(CommandQueue& queue, const CommandView& command);
  // The operation has ended; `message` and `completion` are those of start().
  void completed(const Message& message, const Completion& completion, const Outcome& outcome);

 private:
  [[nodiscard]] Result dma(CommandQueue& queue, const CommandView& command);
  [[nodiscard]] Result immediate(CommandQueue& queue, const CommandView& command);
  [[nodiscard]] Result counting(const CommandView& command, unsigned group);
  [[nodiscard]] Result control(CommandQueue& queue, const CommandView& command);
  [[nodiscard]] bool known(const Completion& completion, unsigned group) const;
  [[nodiscard]] Result start(CommandQueue& queue, const Message& message, const LocalBuffer& local,
                             const Completion& completion);
  void event(const Completion& completion, EventType type, const Outcome& outcome);

  Tables& tables_;
  Transport* transport_ = nullptr;
};

}  // namespace plnet::cassini::soft
