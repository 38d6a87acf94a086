// SPDX-License-Identifier: BSD-3-Clause
// The model's layouts against bytes that the public headers produce: every vector both ways, and
// therefore every single bit field, since each has its own vector.
#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "drivers/net/cassini/soft/codes.hpp"
#include "drivers/net/cassini/soft/layout_command.hpp"
#include "drivers/net/cassini/soft/layout_event.hpp"
#include "drivers/net/cassini/soft/layout_packet.hpp"
#include "tests/unit/drivers/cassini/golden.hpp"

namespace plnet::cassini::soft::layout_test {
namespace {

namespace golden = plnet::cassini::golden;

struct Case {
  const char* structure;
  std::size_t bytes;
  std::span<const FieldAccess> fields;
};

template <class Layout>
Case of(const char* structure) {
  return {structure, Layout::kBytes, Layout::fields()};
}

class Layouts : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!golden::present()) GTEST_SKIP() << "no golden vectors here: " << golden::path();
  }
};

TEST_P(Layouts, EncodeToGoldenBytes) {
  const auto vectors = golden::group(GetParam().structure);
  ASSERT_FALSE(vectors.empty());
  for (const auto& vector : vectors) {
    golden::Bytes bytes(std::max<std::size_t>(GetParam().bytes, 8));
    std::size_t named = 0;
    for (const FieldAccess& field : GetParam().fields) {
      const std::string name(field.info.name);
      if (!vector["fields"].contains(name)) continue;
      field.set(bytes.data(), golden::number(vector, name));
      ++named;
    }
    if (vector["fields"].contains("payload")) {
      const golden::Bytes payload = golden::payload(vector);
      bytes.resize(GetParam().bytes + payload.size());
      std::ranges::copy(payload, bytes.begin() + static_cast<std::ptrdiff_t>(GetParam().bytes));
      ++named;
    }
    EXPECT_EQ(named, vector["fields"].size()) << golden::name(vector) << ": a field is unknown";
    bytes.resize(vector["size"].get<std::size_t>());
    EXPECT_EQ(golden::to_hex(bytes), golden::hex(vector)) << golden::name(vector);
  }
}

TEST_P(Layouts, DecodeFromGoldenBytes) {
  for (const auto& vector : golden::group(GetParam().structure)) {
    golden::Bytes bytes = golden::bytes_of(vector);
    bytes.resize(std::max<std::size_t>(GetParam().bytes, 8));
    for (const FieldAccess& field : GetParam().fields) {
      EXPECT_EQ(field.get(bytes.data()), golden::number(vector, std::string(field.info.name)))
          << golden::name(vector) << " " << field.info.name;
    }
  }
}

// Each field must have a vector that sets it alone; otherwise the two tests above prove little.
TEST_P(Layouts, EachFieldHasItsVector) {
  std::set<std::string> alone;
  for (const auto& vector : golden::group(GetParam().structure)) {
    const std::string name = golden::name(vector);
    if (const auto at = name.find("/only/"); at != std::string::npos)
      alone.insert(name.substr(at + 6));
  }
  for (const FieldAccess& field : GetParam().fields)
    EXPECT_TRUE(alone.contains(std::string(field.info.name))) << field.info.name;
}

INSTANTIATE_TEST_SUITE_P(
    Soft, Layouts,
    ::testing::Values(
        of<layout::Command>("cmd_byte"), of<layout::FullDma>("full_dma_cmd"),
        of<layout::NomatchDma>("nomatch_dma_cmd"), of<layout::Cstate>("cstate_cmd"),
        of<layout::IdcPut>("idc_put_cmd"), of<layout::IdcMessage>("idc_msg_cmd"),
        of<layout::Counting>("ct_cmd"), of<layout::Cq>("cq_cmd"), of<layout::Target>("target_cmd"),
        of<layout::SetState>("set_state_cmd"), of<layout::CqStatus>("cq_status"),
        of<layout::CtWriteback>("ct_writeback"), of<layout::EqStatus>("eq_status"),
        of<layout::EqSwState>("eq_sw_state"), of<layout::InitiatorShort>("event_initiator_short"),
        of<layout::InitiatorLong>("event_initiator_long"),
        of<layout::TargetShort>("event_target_short"), of<layout::TargetLong>("event_target_long"),
        of<layout::StateChange>("event_target_long.state_change"),
        of<layout::CommandFailure>("event_cmd_fail"), of<layout::PctSct>("event_pct.sct"),
        of<layout::PctTct>("event_pct.tct"), of<layout::TimeEvent>("event_timestamp"),
        of<layout::PacketIpv4>("pkt_fab_ipv4_hdr"), of<layout::PacketShort>("pkt_fab_short_hdr"),
        of<layout::PacketUnrestricted>("pkt_unrestricted_hdr"),
        of<layout::PacketSmallMessage>("pkt_small_message_hdr"),
        of<layout::PacketContinuation>("pkt_continuation_hdr"),
        of<layout::PacketRestricted>("pkt_restricted_hdr")),
    [](const auto& one) {
      std::string name = one.param.structure;
      std::ranges::replace(name, '.', '_');
      return name;
    });

TEST(SoftAddresses, MatchIdsAsTheHeadersMakeThem) {
  if (!golden::present()) GTEST_SKIP() << "no golden vectors here: " << golden::path();
  for (const auto& vector : golden::group("match_id")) {
    if (golden::name(vector) == "match_id/any") continue;  // all ones, without any layout
    const auto pid_bits = static_cast<unsigned>(golden::number(vector, "pid_bits"));
    EXPECT_EQ(match_id(static_cast<unsigned>(golden::number(vector, "pid")),
                       static_cast<std::uint32_t>(golden::number(vector, "nic")), pid_bits),
              golden::number(vector, "match_id"))
        << golden::name(vector);
  }
}

TEST(SoftAddresses, EndpointsAsTheHeadersMakeThem) {
  if (!golden::present()) GTEST_SKIP() << "no golden vectors here: " << golden::path();
  for (const auto& vector : golden::group("fabric_addr.unicast")) {
    if (!vector["fields"].contains("pid_bits")) continue;
    EXPECT_EQ(endpoint_defined(static_cast<unsigned>(golden::number(vector, "pid")),
                               static_cast<unsigned>(golden::number(vector, "index")),
                               static_cast<unsigned>(golden::number(vector, "pid_bits"))),
              golden::number(vector, "endpoint_defined"))
        << golden::name(vector);
  }
}

TEST(SoftLayouts, ReservedBitsBelongToNoField) {
  EXPECT_EQ(layout::SetState::kUsed[7], 0U);
  EXPECT_EQ(layout::FullDma::kUsed[7], ~std::uint64_t{0});
  EXPECT_EQ(layout::Cq::kUsed[0], 0x0000000f000000ffU);
}

}  // namespace
}  // namespace plnet::cassini::soft::layout_test
