// SPDX-License-Identifier: BSD-3-Clause
// Every golden vector of the structures that a driver writes or reads, both ways: the fields give
// the bytes and the bytes give the fields. The vectors have a case for each single field.
#include <gtest/gtest.h>

#include "drivers/net/cassini/address.hpp"
#include "drivers/net/cassini/codes.hpp"
#include "drivers/net/cassini/commands.hpp"
#include "drivers/net/cassini/events.hpp"
#include "drivers/net/cassini/status.hpp"
#include "tests/unit/drivers/cassini/driver/golden.hpp"

namespace plnet::cassini::layouts_test {
namespace {

using golden::Json;
using golden::Values;
namespace vectors = golden::vectors;

class CassiniVectors : public testing::Test {
 protected:
  void SetUp() override {
    if (!golden::present()) GTEST_SKIP() << "tests/data/vectors/cassini.json is not there";
  }
};

template <class Layout>
std::string hex_of(const Layout& layout) {
  std::vector<std::byte> bytes(Layout::kBytes);
  store_words(bytes, layout.encode());
  return vectors::to_hex(bytes);
}

template <class Layout>
Layout decode(std::span<const std::byte> bytes) {
  std::vector<std::byte> whole((Layout::kBytes + 7) / 8 * 8);
  std::copy_n(bytes.begin(), Layout::kBytes, whole.begin());
  const auto words = load_words<(Layout::kBytes + 7) / 8 * 8>(whole.data());
  return Layout::decode(words);
}

// `payload_fits`: the bytes behind the structure are the payload, then zeros.
template <class Layout>
void check(std::string_view structure, std::size_t count) {
  const auto found = golden::group(structure);
  EXPECT_EQ(found.size(), count) << structure;
  for (const Json& vector : found) {
    SCOPED_TRACE(vectors::name(vector));
    Values values = golden::values_of(vector);
    const auto layout = golden::fill<Layout>(values);
    EXPECT_TRUE(values.empty()) << "the driver knows no " << values.begin()->first;
    const vectors::Bytes bytes = vectors::bytes_of(vector);
    ASSERT_GE(bytes.size(), Layout::kBytes);
    const auto head = std::span(bytes).first(Layout::kBytes);
    EXPECT_EQ(hex_of(layout), vectors::to_hex(head));
    EXPECT_EQ(decode<Layout>(head), layout);
    std::string rest;
    if (vector["fields"].contains("payload"))
      rest = vector["fields"]["payload"].get<std::string>().substr(6);
    rest.resize((bytes.size() - Layout::kBytes) * 2, '0');
    EXPECT_EQ(vectors::to_hex(std::span(bytes).subspan(Layout::kBytes)), rest);
  }
}

TEST_F(CassiniVectors, TransmitCommands) {
  check<DmaCommand>("full_dma_cmd", 41);
  check<NomatchDmaCommand>("nomatch_dma_cmd", 28);
  check<DmaAmoCommand>("dma_amo_cmd", 38);
  check<CStateCommand>("cstate_cmd", 26);
  check<IdcPutCommand>("idc_put_cmd", 19);
  check<IdcMessageCommand>("idc_msg_cmd", 19);
  check<IdcAmoCommand>("idc_amo_cmd", 19);
  check<IdcAmoShortCommand>("idc_amo_short_cmd", 14);
  check<CounterCommand>("ct_cmd", 22);
  check<QueueCommand>("cq_cmd", 12);
}

TEST_F(CassiniVectors, TargetCommands) {
  check<TargetCommand>("target_cmd", 42);
  check<SetStateCommand>("set_state_cmd", 16);
}

TEST_F(CassiniVectors, TriggeredDma) {
  const auto found = golden::group("trig_dma_cmd");
  EXPECT_EQ(found.size(), 44U);
  for (const Json& vector : found) {
    SCOPED_TRACE(vectors::name(vector));
    Values outer;
    Values inner;
    for (const auto& [name, value] : vector["fields"].items()) {
      const bool embedded = name.starts_with("dma.");
      golden::add(embedded ? inner : outer, embedded ? name.substr(4) : name,
                  vectors::number(vector, name));
    }
    const auto counter = golden::fill<CounterCommand>(outer);
    const auto dma = golden::fill<DmaCommand>(inner);
    EXPECT_TRUE(outer.empty() && inner.empty());
    std::string expected = hex_of(counter) + hex_of(dma);
    expected.resize(256, '0');
    EXPECT_EQ(vectors::hex(vector), expected);
  }
}

TEST_F(CassiniVectors, Events) {
  check<InitiatorEvent>("event_initiator_short", 23);
  check<InitiatorLongEvent>("event_initiator_long", 18);
  check<TargetEvent>("event_target_short", 19);
  check<TargetLongEvent>("event_target_long", 44);
  check<StateChangeEvent>("event_target_long.state_change", 35);
  check<CommandFailureEvent>("event_cmd_fail", 14);
  check<PctEvent>("event_pct.sct", 14);
  check<PctEvent>("event_pct.tct", 13);
  check<TimestampEvent>("event_timestamp", 9);
  check<TriggeredEvent>("event_trig_op_short", 9);
  check<TriggeredLongEvent>("event_trig_op_long", 11);
}

TEST_F(CassiniVectors, PlainEvents) {
  for (const Json& vector : golden::group("event_eq_switch")) {
    SCOPED_TRACE(vectors::name(vector));
    const vectors::Bytes bytes = vectors::bytes_of(vector);
    const auto event = decode<PlainEvent>(bytes);
    EXPECT_EQ(event.size, vectors::number(vector, "event_size"));
    EXPECT_EQ(event.type, vectors::number(vector, "event_type"));
    EXPECT_EQ(event.return_code, vectors::number(vector, "return_code"));
    if (bytes.size() == 16) {
      EXPECT_EQ(hex_of(event), vectors::hex(vector));
    } else {
      EXPECT_EQ(std::to_integer<unsigned>(bytes.back()), 1U) << "NULL of 32 bytes";
    }
  }
}

TEST_F(CassiniVectors, StatusAndDoorbells) {
  check<CommandQueueStatus>("cq_status", 16);
  check<EventQueueStatus>("eq_status", 18);
  check<EventQueueAck>("eq_sw_state", 11);
  check<CounterWriteback>("ct_writeback", 8);
  check<MulticastAddress>("fabric_addr.multicast", 8);
  check<RendezvousMatchBits>("rdzv_match_bits", 6);
  check<RendezvousUserPtr>("rdzv_user_ptr", 8);
}

TEST_F(CassiniVectors, Addresses) {
  unsigned computed = 0;
  for (const Json& vector : golden::group("fabric_addr.unicast")) {
    SCOPED_TRACE(vectors::name(vector));
    const std::uint32_t dfa = static_cast<std::uint32_t>(
        vectors::number(vector, "endpoint_defined") | vectors::number(vector, "nid") << 12U);
    std::array<std::byte, 4> bytes{};
    store_words(bytes, std::array<std::uint64_t, 1>{dfa});
    EXPECT_EQ(vectors::to_hex(bytes), vectors::hex(vector));
    if (!vector["fields"].contains("pid_bits")) continue;
    ++computed;
    const Process process{vectors::word(vector, "nic"), vectors::word(vector, "pid")};
    const FabricAddress expected{dfa,
                                 static_cast<std::uint8_t>(vectors::word(vector, "index_ext"))};
    EXPECT_EQ(
        fabric_address(process, vectors::word(vector, "index"), vectors::word(vector, "pid_bits")),
        expected);
  }
  EXPECT_EQ(computed, 10U);
  for (const Json& vector : golden::group("match_id")) {
    SCOPED_TRACE(vectors::name(vector));
    const std::uint32_t id = vectors::word(vector, "match_id");
    if (!vector["fields"].contains("pid_bits")) {
      EXPECT_EQ(id, kMatchAny);
      continue;
    }
    const unsigned pid_bits = vectors::word(vector, "pid_bits");
    const Process process{vectors::word(vector, "nic"), vectors::word(vector, "pid")};
    EXPECT_EQ(match_id(process, pid_bits), id);
    EXPECT_EQ(process_of(id, pid_bits), process);
  }
}

TEST_F(CassiniVectors, CommandBytes) {
  const auto check_byte = [](const Json& vector) {
    const std::uint8_t byte =
        command_byte(static_cast<CommandType>(vectors::number(vector, "command.cmd_type")),
                     static_cast<SizeCode>(vectors::number(vector, "command.cmd_size")),
                     vectors::word(vector, "command.opcode"));
    EXPECT_EQ(vectors::to_hex(std::array{std::byte{byte}}), vectors::hex(vector));
  };
  for (const Json& vector : golden::group("cmd_byte"))
    check_byte(vector);
  const vectors::Bytes table = vectors::bytes_of(golden::one("cmd_byte/table"));
  ASSERT_EQ(table.size(), 256U);
  for (unsigned i = 0; i < 256; ++i) {
    const std::uint8_t byte =
        command_byte(static_cast<CommandType>(i / 64), static_cast<SizeCode>(i / 16 % 4), i % 16);
    EXPECT_EQ(byte, std::to_integer<std::uint8_t>(table[i]));
    EXPECT_EQ(static_cast<unsigned>(type_of(byte)), i / 64);
    EXPECT_EQ(static_cast<unsigned>(size_of(byte)), i / 16 % 4);
    EXPECT_EQ(opcode_of(byte), i % 16);
  }
  const auto codes = golden::one("size_code/by-length")["fields"]["codes"].get<std::string>();
  ASSERT_EQ(codes.size(), 256U);
  for (unsigned length = 1; length <= 256; ++length)
    EXPECT_EQ(static_cast<unsigned>(size_for(length)),
              static_cast<unsigned>(codes[length - 1] - '0'));
}

TEST_F(CassiniVectors, CodesAndTheirNames) {
  const Json types = golden::one("enum/event_type")["fields"];
  for (const auto& [name, value] : types.items())
    EXPECT_EQ(name_of(static_cast<EventType>(value.get<unsigned>())), name);
  const Json codes = golden::one("enum/return_code")["fields"];
  for (const auto& [name, value] : codes.items())
    EXPECT_EQ(name_of(static_cast<ReturnCode>(value.get<unsigned>())), name);
  const Json states = golden::one("enum/ptlte_state")["fields"];
  for (const auto& [name, value] : states.items())
    EXPECT_EQ(name_of(static_cast<PortalState>(value.get<unsigned>())), name);
  unsigned named = 0;
  for (unsigned i = 0; i < 256; ++i)
    named += name_of(static_cast<ReturnCode>(i)) != "unknown" ? 1U : 0U;
  EXPECT_EQ(named, codes.size());
}

TEST(CassiniMatchBits, AreTheKernels) {
  EXPECT_EQ(match_bits::kMessage, 0x0100'0000'0000'0000U);
  EXPECT_EQ(match_bits::kMessageIgnore, 0x0010'0000'0000'0000U);
  EXPECT_EQ(match_bits::kTaggedIgnore, 0x0030'0000'0000'0000U);
  EXPECT_EQ(match_bits::tagged(0x10001), 0x0140'0000'0001'0001U);
  EXPECT_EQ(match_bits::tagged_rma(0x10001), 0x0160'0000'0001'0001U);
  EXPECT_EQ(match_bits::tagged_data(0x10001), 0x0150'0000'0001'0001U);
  EXPECT_EQ(get_index(0), 128U);
}

}  // namespace
}  // namespace plnet::cassini::layouts_test
