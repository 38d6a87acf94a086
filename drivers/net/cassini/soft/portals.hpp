// SPDX-License-Identifier: BSD-3-Clause
// The receiving half of a NIC: portal table entries, their states and lists, the commands of target
// queues, and the delivery of messages. begin() decides and counts, the transport that carries
// the message then moves its bytes, finish() tells the process.
#pragma once

#include <vector>

#include "drivers/net/cassini/soft/tables.hpp"

namespace plnet::cassini::soft {

inline constexpr unsigned kEveryBuffer = ~0U;  // no entry has this id

class Portals {
 public:
  explicit Portals(Tables& tables) : tables_(tables) {}

  // Executes a target-queue command of checked form; kOk or the reason to stop the queue.
  [[nodiscard]] ReturnCode command(unsigned opcode, const std::byte* command, unsigned group);

  // An outcome.code other than kOk: refused, nothing to move or finish.
  [[nodiscard]] Delivery begin(const Message& message);
  // The memory of the bytes [offset, offset + length) of a delivery. Null with kOk: length 0 or
  // cut.
  [[nodiscard]] Translated memory(const Delivery& delivery, Operation operation,
                                  std::uint64_t offset, std::uint64_t length) const;
  void finish(const Message& message, Delivery& delivery);

  void reset(unsigned portal);  // empties its lists and clears its state
  // True if a delivery under way through this entry must be cut.
  static bool uses(const Delivery& delivery, unsigned portal, unsigned buffer_id, ListKind list) {
    return delivery.portal == portal &&
           (buffer_id == kEveryBuffer ||
            (delivery.buffer_id == buffer_id && delivery.outcome.list == list));
  }
  // Visits the messages that matched no entry of the priority list, the oldest first: the address
  // of the bytes, or at the initiator that of a rendezvous (the driver's ULE: start_or_offset).
  template <class Tell>
  void for_each_header(unsigned portal, Tell tell) {
    const EntryList& headers = tables_.portals[portal].list(ListKind::kUnexpected);
    for (std::uint32_t at = headers.head; at != kNoEntry; at = tables_.pool[at].next) {
      const Entry& header = tables_.pool[at];
      tell(header.rendezvous ? header.remote_offset : header.start);
    }
  }
  void software_managed(unsigned portal, StateChangeReason reason, bool nic_auto);

 private:
  struct Found {
    std::uint32_t entry = kNoEntry;
    ListKind list = ListKind::kPriority;
    ReturnCode code = ReturnCode::kOk;
  };
  // portals_lists.cpp
  ReturnCode append(const std::byte* command, unsigned group);
  void search(const std::byte* command, bool remove);
  void unlink(const std::byte* command);
  ReturnCode set_state(const std::byte* command, unsigned group);
  [[nodiscard]] ReturnCode check_append(const std::byte* command, unsigned group) const;
  void link_event(const std::byte* command, ReturnCode code);
  enum class Taken : std::uint8_t { kNothing, kSome, kEntryUsed };
  // A search leaves the rest of a rendezvous to the process: no event names an address for it.
  enum class Taking : std::uint8_t { kByEntry, kBySearch };
  Taken take_headers(PortalTable& portal, unsigned number, Entry& entry, Taking why);
  void header_event(EventType type, const PortalTable& portal, unsigned number, const Entry& header,
                    const Entry& entry, bool consumed);
  // The eager bytes of a rendezvous are there; the process fetches the rest.
  struct Rendezvous {
    std::uint64_t header_data = 0, match_bits = 0;
    std::uint64_t from = 0, to = 0;  // device addresses: of the initiator, of the target
    std::uint32_t initiator = 0, source = 0, mlength = 0, rlength = 0;
    std::uint16_t buffer_id = 0, vni = 0;
    std::uint8_t id = 0;
  };
  void rendezvous_event(const PortalTable& portal, unsigned number, const Rendezvous& rendezvous);
  void state_change(unsigned number, StateChangeReason reason, bool nic_auto,
                    ReturnCode code = ReturnCode::kOk);
  void drop_entry(PortalTable& portal, EntryList& list, std::uint32_t index);

  // portals.cpp
  [[nodiscard]] ReturnCode find_portal(const Message& message, unsigned& number);
  [[nodiscard]] Found find_entry(PortalTable& portal, const Message& message);
  [[nodiscard]] Found walk(PortalTable& portal, ListKind list, const Message& message);
  [[nodiscard]] ReturnCode refuse(unsigned number, StateChangeReason reason);
  [[nodiscard]] ReturnCode nothing_matched(unsigned number);
  void place(PortalTable& portal, unsigned number, const Found& found, const Message& message,
             Delivery& delivery);
  bool add_header(PortalTable& portal, const Message& message, const Delivery& delivery);
  void fail(const PortalTable& portal, const Message& message, ReturnCode code, Delivery& delivery);
  void without_header(PortalTable& portal, unsigned number, const Message& message,
                      Delivery& delivery);
  void target_event(const Message& message, const Delivery& delivery, EventType type);
  void unlink_event(unsigned number, ListKind list, unsigned buffer_id, ReturnCode code,
                    bool automatic);

  Tables& tables_;
  std::uint32_t last_key_ = ~0U;  // of the domain looked up last
  DomainEntry* last_domain_ = nullptr;

 public:
  void domains_changed() { last_domain_ = nullptr; }
};

}  // namespace plnet::cassini::soft
