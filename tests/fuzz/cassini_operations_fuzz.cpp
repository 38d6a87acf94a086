// SPDX-License-Identifier: BSD-3-Clause
// Two processes on NICs that are no stricter than hardware, joined or with a wire between them.
// An input is their commands: rendezvous and atomic operations, triggered commands and counting
// events, searches and unlinks of lists, changes of a portal's state. Numbers in commands are
// mostly valid. No command ends twice, a NIC's resources are all given back, and its event queue
// stays readable.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "drivers/net/cassini/soft/atomic.hpp"
#include "drivers/net/cassini/soft/packet_port.hpp"
#include "drivers/net/cassini/soft/wire_inproc.hpp"
#include "lib/base/check.hpp"
#include "tests/fuzz/script.hpp"
#include "tests/unit/drivers/cassini/soft/host.hpp"

namespace plnet::cassini::soft::operations_fuzz {
namespace {

using rigs::head;
using rigs::Host;
using rigs::Slots;
using Le = layout::Target;
using Ct = layout::Counting;

constexpr unsigned kCounters = 3;
constexpr unsigned kStepsMax = 4000;  // more than all that may be under way needs to end
constexpr unsigned kStepsOfAll = 8;   // until all commands are read
constexpr std::uint64_t kStepNs = 1'000'000;

Limits few() {
  Limits limits;
  limits.transmit_queues = limits.target_queues = limits.event_queues = 4;
  limits.portals = limits.resource_groups = 4;
  limits.counters = 8;
  limits.list_entries = 24;
  limits.triggered = 12;
  limits.mappings = 8;
  return limits;
}

rigs::HostOptions options(NicAddress address, unsigned pid, const PortalRequest& portal) {
  rigs::HostOptions one;
  one.address = address;
  one.pid = pid;
  one.arena = std::size_t{1} << 17U;
  one.eq_bytes = std::size_t{1} << 14U;
  one.portal = portal;
  return one;
}

// Joined without a wire, or with one.
struct Ends {
  Ends(const PortalRequest& portal, bool has_wire)
      : a(
            make(1, has_wire), [this](std::uint64_t now) { step(now); }, options(1, 7, portal)),
        b(make(2, has_wire), [this](std::uint64_t now) { step(now); }, options(2, 9, portal)) {}
  Nic& make(NicAddress address, bool has_wire) {
    NicOptions nic;
    nic.address = address;
    nic.limits = few();
    nic.strict = false;
    if (!has_wire) return fabric.add(nic);
    wired.push_back(std::make_unique<Wired>(cable, nic));
    return wired.back()->nic;
  }
  void step(std::uint64_t now) {
    fabric.step(now);
    for (const auto& end : wired)
      end->port.step(now);
  }
  struct Wired {
    Wired(InprocCable& cable, const NicOptions& options)
        : nic(options), wire(cable, options.address), port(nic, wire, ports()) {}
    static PortOptions ports() {
      PortOptions few_ports;
      few_ports.payload_max = 512;
      few_ports.messages_max = 32;
      few_ports.source_connections = few_ports.target_connections = 8;
      few_ports.remembered_responses = 64;
      few_ports.message_states = 4;
      return few_ports;
    }
    Nic nic;
    InprocWire wire;
    PacketPort port;
  };
  Fabric fabric;
  InprocCable cable{WireFaults{}};
  std::vector<std::unique_ptr<Wired>> wired;
  Host a, b;
};

// A process with its counting events and a queue for triggered commands.
struct Side {
  Side(Host& one, unsigned own_pid) : host(one), pid(own_pid) {
    for (unsigned& counter : counters)
      counter = host.nic.make_counter(host.group, &shown).value();
    triggered =
        host.nic
            .make_command_queue(
                host.group,
                {.transmit = true, .triggered = true, .lcid = host.lcid, .error_eq = host.eq})
            .value();
    late.attach(*host.nic.command_queue(triggered));
  }
  [[nodiscard]] bool is_running(unsigned queue) const {
    return !host.nic.command_queue(queue)->stopped();
  }

  Host& host;
  unsigned pid;
  std::uint64_t shown = 0;
  std::array<unsigned, kCounters> counters{};
  unsigned triggered = 0;
  rigs::Producer late;
};

class World {
 public:
  explicit World(fuzz::Script script)
      : script_(script), ends_(portal(), script_.below(2) != 0), a_(ends_.a, 7), b_(ends_.b, 9) {}

  void run() {
    while (!script_.empty()) {
      Side& side = script_.below(2) == 0 ? a_ : b_;
      switch (script_.below(12)) {
        case 0: append(side); break;
        case 1: list_command(side); break;
        case 2: state(side); break;
        case 3: dma(side); break;
        case 4: atomic(side); break;
        case 5: sticky(side); break;
        case 6: immediate(side); break;
        case 7: counting(side); break;
        case 8: trigger(side); break;
        case 9: control(side); break;
        case 10: doorbell(side); break;
        default: process(side); break;
      }
      if (script_.below(4) != 0) steps(1 + script_.below(4));
    }
    end();
  }

 private:
  PortalRequest portal() {
    const unsigned bits = script_.byte();
    return {.matching = (bits & 1U) == 0,
            .event_match = (bits & 2U) != 0,
            .flow_control = (bits & 4U) != 0,
            .use_long_event = (bits & 8U) != 0,
            .clear_remote_offset = (bits & 16U) != 0,
            .hybrid = (bits & 32U) != 0,
            .space_check = (bits & 64U) != 0};
  }
  Side& other(Side& side) { return &side == &a_ ? b_ : a_; }
  // Mostly somewhere in the arena, sometimes elsewhere.
  std::uint64_t address(Side& side) {
    const std::uint64_t at = script_.byte() * 8U;
    return at >= 250 * 8U ? script_.number<std::uint64_t>() & (kIovaLimit - 1)
                          : side.host.iova(side.host.arena.data() + at);
  }
  unsigned counter(Side& side) {
    const unsigned number = script_.below(kCounters + 2);
    return number < kCounters ? side.counters[number] : number - kCounters;
  }
  std::uint32_t length() {
    return script_.below(8) == 7 ? script_.number<std::uint16_t>() * 3U : script_.byte() * 4U;
  }
  // The position of a command that needs its own alignment.
  static void push(rigs::Producer& to, const std::byte* command, unsigned size_code) {
    to.push(command, size_code);
    to.ring();
  }

  void append(Side& side) {
    Slots slot;
    std::byte* const at = slot.data();
    const unsigned bits = script_.byte();
    const unsigned more = script_.byte();
    head(at, 1, CqOpcode::kAppend);
    Le::PtlteIndex::set(at, side.host.portal);
    Le::PtlList::set(at, script_.below(4));
    Le::UseOnce::set(at, bits & 1U);
    Le::ManageLocal::set(at, bits >> 1U);
    Le::NoTruncate::set(at, bits >> 2U);
    Le::OpPut::set(at, (bits & 8U) != 0 ? 0 : 1);
    Le::OpGet::set(at, (bits & 16U) != 0 ? 0 : 1);
    Le::UnexpectedHdrDisable::set(at, bits >> 5U);
    Le::EventLinkDisable::set(at, bits >> 6U);
    Le::EventUnlinkDisable::set(at, bits >> 7U);
    Le::EventCtBytes::set(at, more);
    Le::EventCtOverflow::set(at, more >> 1U);
    Le::EventCtComm::set(at, more >> 2U);
    Le::EventSuccessDisable::set(at, more >> 3U);
    Le::EventCommDisable::set(at, more >> 4U);
    Le::MinFree::set(at, more >> 5U);
    Le::Ct::set(at, counter(side));
    Le::BufferId::set(at, script_.below(5));
    Le::Lac::set(at, side.host.lac());
    Le::Start::set(at, address(side));
    Le::Length::set(at, length());
    Le::MatchId::set(at, 0xffffffff);
    Le::MatchBits::set(at, script_.below(3));
    Le::IgnoreBits::set(at, script_.below(2) == 0 ? 0 : ~std::uint64_t{0});
    if (side.is_running(side.host.tgq)) push(side.host.target, at, 1);
  }
  void list_command(Side& side) {
    constexpr std::array kOpcodes{CqOpcode::kSearch, CqOpcode::kSearchAndDelete, CqOpcode::kUnlink};
    Slots slot;
    std::byte* const at = slot.data();
    head(at, 1, kOpcodes[script_.below(kOpcodes.size())]);
    Le::PtlteIndex::set(at, side.host.portal);
    Le::PtlList::set(at, script_.below(4));
    Le::UseOnce::set(at, script_.below(2));
    Le::ManageLocal::set(at, script_.below(2));
    Le::BufferId::set(at, script_.below(5));
    Le::Length::set(at, length());
    Le::MatchId::set(at, 0xffffffff);
    Le::MatchBits::set(at, script_.below(3));
    Le::IgnoreBits::set(at, script_.below(2) == 0 ? 0 : ~std::uint64_t{0});
    if (side.is_running(side.host.tgq)) push(side.host.target, at, 1);
  }
  void state(Side& side) {
    if (!side.is_running(side.host.tgq)) return;
    const auto wanted = static_cast<PortalState>(script_.below(4));
    side.host.set_state(wanted, script_.below(2) == 0 ? kDropCountIgnored : script_.below(4));
  }
  template <class Layout>
  void address_other(Side& side, std::byte* at, unsigned index) {
    Layout::EndpointDefined::set(at, endpoint_defined(other(side).pid, index));
    Layout::Nid::set(at, other(side).host.nic.address());
    Layout::RemoteOffset::set(at, script_.byte());
  }
  template <class Layout>
  void flags(Side& side, std::byte* at) {
    const unsigned bits = script_.byte();
    Layout::EventSendDisable::set(at, bits);
    Layout::EventSuccessDisable::set(at, bits >> 1U);
    Layout::EventCtSend::set(at, bits >> 2U);
    Layout::EventCtReply::set(at, bits >> 3U);
    Layout::EventCtAck::set(at, bits >> 4U);
    Layout::EventCtBytes::set(at, bits >> 5U);
    Layout::Restricted::set(at, bits >> 6U);
    Layout::Flush::set(at, bits >> 7U);
    Layout::Ct::set(at, counter(side));
    Layout::Eq::set(at, script_.below(8) == 7 ? 0 : side.host.eq);
    Layout::Initiator::set(at, side.host.id());
  }
  // A command of 64 bytes: PUT, GET, or rendezvous.
  void fill_dma(Side& side, std::byte* at) {
    using Dma = layout::FullDma;
    constexpr std::array kOpcodes{DmaOpcode::kPut, DmaOpcode::kGet, DmaOpcode::kRendezvousPut,
                                  DmaOpcode::kRendezvousPut};
    const DmaOpcode opcode = kOpcodes[script_.below(kOpcodes.size())];
    head(at, CommandType::kDma, 1, opcode);
    address_other<Dma>(side, at, opcode == DmaOpcode::kGet ? 128 : 0);
    flags<Dma>(side, at);
    Dma::Lac::set(at, side.host.lac());
    Dma::LocalAddr::set(at, address(side));
    Dma::RequestLen::set(at, length());
    Dma::MatchBits::set(at, script_.below(3));
    if (opcode != DmaOpcode::kRendezvousPut) return;
    Dma::EagerLength::set(at, length());
    Dma::RendezvousId::set(at, script_.byte());
    Dma::UseOffsetForGet::set(at, script_.below(16) == 15 ? 0 : 1);
    if (script_.below(16) != 15) Dma::Restricted::set(at, 0);
  }
  void fill_atomic(Side& side, std::byte* at) {
    using Dma = layout::DmaAtomic;
    head(at, CommandType::kDma, 2,
         script_.below(2) == 0 ? DmaOpcode::kAtomic : DmaOpcode::kFetchingAtomic);
    address_other<Dma>(side, at, 0);
    flags<Dma>(side, at);
    const unsigned type = script_.below(14);
    Dma::Lac::set(at, side.host.lac());
    Dma::WriteLac::set(at, side.host.lac());
    Dma::ReadAddr::set(at, address(side));
    Dma::WriteAddr::set(at, address(side));
    Dma::RequestLen::set(at, atomic_bytes(static_cast<AtomicType>(type)));
    Dma::AtomicKind::set(at, type);
    Dma::AtomicOp::set(at, script_.below(16));
    Dma::CompareOp::set(at, script_.below(8));
    Dma::SecondLow::set(at, script_.number<std::uint64_t>());
    Dma::MatchBits::set(at, script_.below(3));
  }
  void dma(Side& side) {
    Slots slot;
    fill_dma(side, slot.data());
    if (side.is_running(side.host.txq)) push(side.host.tx, slot.data(), 1);
  }
  void atomic(Side& side) {
    Slots slot;
    fill_atomic(side, slot.data());
    if (side.is_running(side.host.txq)) push(side.host.tx, slot.data(), 2);
  }
  void sticky(Side& side) {
    Slots slot;
    using State = layout::Cstate;
    head(slot.data(), CommandType::kIdc, 0, DmaOpcode::kCstate);
    State::Length::set(slot.data(), State::kBytes);
    State::WriteLac::set(slot.data(), side.host.lac());
    flags<State>(side, slot.data());
    if (side.is_running(side.host.txq)) push(side.host.tx, slot.data(), 0);
  }
  void immediate(Side& side) {
    Slots slot;
    std::byte* const at = slot.data();
    using Large = layout::IdcAtomic;
    using Small = layout::SmallAtomic;
    const bool is_fetching = script_.below(2) != 0;
    const bool is_large = is_fetching || script_.below(2) != 0;
    const unsigned kind = script_.below(3);  // 2: a PUT
    const DmaOpcode opcode = is_fetching ? DmaOpcode::kFetchingAtomic : DmaOpcode::kAtomic;
    head(at, CommandType::kIdc, is_large ? 1 : 0, kind == 2 ? DmaOpcode::kPut : opcode);
    address_other<Large>(side, at, 0);
    Large::Length::set(at, is_large ? Large::kBytes : Small::kBytes);
    if (kind == 2) {
      layout::IdcPut::Length::set(at, 16U + script_.below(is_large ? 49 : 17));
    } else if (is_large) {
      Large::LocalAddr::set(at, address(side));
      Large::AtomicOp::set(at, script_.below(16));
      Large::AtomicKind::set(at, script_.below(16));
      Large::CompareOp::set(at, script_.below(8));
      Large::FirstLow::set(at, script_.number<std::uint64_t>());
    } else {
      Small::AtomicOp::set(at, script_.below(16));
      Small::AtomicKind::set(at, script_.below(16));
      Small::FirstLow::set(at, script_.number<std::uint64_t>());
    }
    if (side.is_running(side.host.txq)) push(side.host.tx, at, is_large ? 1 : 0);
  }
  void fill_counting(Side& side, std::byte* at) {
    Ct::Ct::set(at, counter(side));
    Ct::TrigCt::set(at, counter(side));
    Ct::Eq::set(at, script_.below(4) == 3 ? 0 : side.host.eq);
    Ct::CtSuccess::set(at, script_.number<std::uint64_t>());
    Ct::CtFailure::set(at, script_.below(8) == 7 ? script_.byte() : 0);
    Ct::SetCtSuccess::set(at, script_.below(2));
    Ct::SetCtFailure::set(at, script_.below(2));
    Ct::Threshold::set(at, script_.number<std::uint64_t>());
  }
  void counting(Side& side) {
    Slots slot;
    head(slot.data(), CommandType::kCt, 1, 1 + script_.below(4));
    fill_counting(side, slot.data());
    const bool is_late = script_.below(2) != 0;
    if (side.is_running(is_late ? side.triggered : side.host.txq))
      push(is_late ? side.late : side.host.tx, slot.data(), 1);
  }
  void trigger(Side& side) {
    Slots slot;
    const unsigned opcode = static_cast<unsigned>(CtOpcode::kTriggeredDma) + script_.below(4);
    const bool is_dma = opcode == static_cast<unsigned>(CtOpcode::kTriggeredDma);
    const unsigned size_code = is_dma ? 2 : 1;
    head(slot.data(), CommandType::kCt, size_code, opcode);
    fill_counting(side, slot.data());
    Slots inner;
    if (is_dma) {
      script_.below(3) == 0 ? fill_atomic(side, inner.data()) : fill_dma(side, inner.data());
      std::copy_n(inner.data(), 128 - Ct::kBytes, slot.data() + Ct::kBytes);
    }
    if (!side.is_running(side.triggered)) return;
    Slots noop;  // such a queue is padded with NOOPs of 64 bytes
    head(noop.data(), CommandType::kCt, 1, static_cast<unsigned>(CtOpcode::kNoop));
    while (is_dma && side.late.position() % 4 != 0)
      side.late.push_here(noop.data(), 64);
    push(side.late, slot.data(), size_code);
  }
  void control(Side& side) {
    Slots slot;
    const bool is_fence = script_.below(2) == 0;
    head(slot.data(), is_fence ? 1 : 2, is_fence ? CqOpcode::kFence : CqOpcode::kLcid);
    layout::Cq::Lcid::set(slot.data(), script_.below(4) == 3 ? script_.byte() : side.host.lcid);
    head(slot.data() + kSlotBytes, 1, CqOpcode::kNoop);
    if (is_fence && side.is_running(side.host.txq)) push(side.host.tx, slot.data(), 1);
  }
  void doorbell(Side& side) {
    const unsigned number = side.counters[script_.below(kCounters)];
    CountingDoorbell& one = *side.host.nic.counter_doorbell(number);
    switch (script_.below(4)) {
      case 0: one.success.value = script_.number<std::uint64_t>(); break;
      case 1: one.failure.value = script_.byte(); break;
      case 2: one.reset_success.value = 0; break;
      default: one.reset_failure.value = 0; break;
    }
  }
  // Calls of libcxi between the commands.
  void process(Side& side) {
    Nic& nic = side.host.nic;
    switch (script_.below(5)) {
      case 0: (void)nic.invalidate(side.host.portal, script_.below(5), script_.below(4)); break;
      case 1: (void)nic.to_software_managed(side.host.portal, script_.below(3)); break;
      case 2: (void)nic.set_writeback(side.counters[0], nullptr); break;
      case 3: nic.portals().for_each_header(side.host.portal, [](std::uint64_t) {}); break;
      default: steps(script_.byte()); break;
    }
  }

  void steps(unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      ends_.step(Host::now_ns += kStepNs);
    read(a_);
    read(b_);
  }
  void read(Side& side) {
    while (const auto event = side.host.events.next())
      PLNET_CHECK(event->type <= EventType::kNull, "a kind of event");
  }
  void end() {
    const auto is_busy = [](Side& side) {
      return side.host.nic.command_queue(side.host.txq)->outstanding > 0 ||
             side.host.nic.command_queue(side.triggered)->outstanding > 0;
    };
    steps(kStepsOfAll);
    // Counting events that trigger one another would never end.
    for (Side* const side : {&a_, &b_})
      for (const unsigned number : side->counters)
        PLNET_CHECK(side->host.nic.drop_counter(number).has_value(), "a counting event goes");
    for (unsigned i = 0; i < kStepsMax && (is_busy(a_) || is_busy(b_)); ++i)
      steps(1);
    PLNET_CHECK(!is_busy(a_) && !is_busy(b_), "every operation ends");
    for (Side* const side : {&a_, &b_}) {
      Nic& nic = side->host.nic;
      const Resources& resources = nic.resources();
      PLNET_CHECK(resources.used(Resource::kTriggered) == 0, "no triggered command is left");
      PLNET_CHECK(nic.unmap_portal(side->host.domain.key, 0).has_value() &&
                      nic.unmap_portal(side->host.domain.key, 128).has_value() &&
                      nic.drop_portal(side->host.portal).has_value(),
                  "a portal goes");
      PLNET_CHECK(resources.used(Resource::kListEntries) == 0, "its entries are given back");
    }
  }

  fuzz::Script script_;
  Ends ends_;
  Side a_, b_;
};

}  // namespace
}  // namespace plnet::cassini::soft::operations_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using plnet::cassini::soft::rigs::Host;
  Host::now_ns = 0;
  plnet::cassini::soft::operations_fuzz::World({data, size}).run();
  return 0;
}
