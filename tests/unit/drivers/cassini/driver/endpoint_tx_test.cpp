// SPDX-License-Identifier: BSD-3-Clause
// Commands of the driver for the operations of kfilnd: sends, reads, writes, answers.
#include "tests/unit/drivers/cassini/driver/scripted_nic.hpp"

namespace plnet::cassini::endpoint_tx_test {
namespace {

using Id = CassiniCounters::Id;
using kfilnd::FabricEvent;

class CassiniTx : public EndpointTest {};

constexpr std::array<std::byte, 8> kHeader{std::byte{1}, std::byte{2}};

TEST_F(CassiniTx, BringUpMapsBothIndicesAndGivesEverythingBack) {
  start();
  EXPECT_EQ(nic.indices, (std::set<unsigned>{2, 130}));
  EXPECT_TRUE(endpoint->receiver().portal().enabled());
  EXPECT_TRUE(upper.links.empty()) << "nothing has changed";
}

TEST_F(CassiniTx, EveryCallOfBringUpMayFail) {
  for (const char* const call : {"device", "device_info", "lni", "profile", "domain"}) {
    nic.failing = call;
    const auto opened = Device::open(nic, {}, arenas);
    ASSERT_FALSE(opened.has_value()) << call;
    EXPECT_NE(opened.error().what.find("errno"), std::string::npos) << opened.error().what;
    for (const auto& [what, count] : nic.alive)
      EXPECT_EQ(count, 0U) << what << " is left over after " << call;
  }
  nic.failing.clear();
  device = Device::open(nic, {}, arenas).value();
  for (const char* const call :
       {"mapping", "event_queue", "command_queue", "portal", "portal_map"}) {
    nic.failing = call;
    const auto made = Endpoint::create(*device, config, upper);
    ASSERT_FALSE(made.has_value()) << call;
    EXPECT_EQ(nic.alive["event_queue"] + nic.alive["command_queue"] + nic.alive["portal"], 0U);
    EXPECT_EQ(nic.alive["mapping"], 1U) << "the arena's";
  }
}

TEST_F(CassiniTx, SendIsAFullDmaPutOfTheKernels) {
  start();
  const Fragment tail{{0, 100}, 50};
  arena_bytes[100] = std::byte{0x77};
  ASSERT_TRUE(endpoint->send(peer, kHeader, {{&tail, 1}, 0, 50}, 42));
  const DmaCommand put = only_sent();
  EXPECT_EQ(put.command, command_byte(CommandType::kDma, SizeCode::k64, opcode::kPut));
  EXPECT_EQ(put.dfa, 0x2b3U << 12U | 1U);
  EXPECT_EQ(put.index_ext, 1) << "the peer's receive context";
  EXPECT_EQ(put.event_send_disable, 1);
  EXPECT_EQ(put.event_success_disable, 0);
  EXPECT_EQ(put.restricted, 0);
  EXPECT_EQ(put.request_len, 58U);
  EXPECT_EQ(put.initiator, 1U << 23U | 0x1a2U);
  EXPECT_EQ(put.match_bits, 0x0100'0000'0000'0000U);
  EXPECT_EQ(put.eq, nic.transmit_queue());
  nic.answer(put);
  const auto done = next();
  EXPECT_EQ(done.event, FabricEvent::kSent);
  EXPECT_TRUE(done.status.has_value());
  EXPECT_EQ(done.cookie, 42U);
  EXPECT_EQ(counted(Id::kSends), 1U);
}

TEST_F(CassiniTx, BulkGoesToTheTagAndGetsToTheOtherIndex) {
  start();
  const Fragment here{{0, 0x1000}, 5000};
  const lnet::Payload payload{{&here, 1}, 100, 4000};
  ASSERT_TRUE(endpoint->read_tagged(peer, 0x10001, payload, 1));
  const DmaCommand get = only_sent();
  EXPECT_EQ(opcode_of(get.command), opcode::kGet);
  EXPECT_EQ(get.dfa, 0x2b3U << 12U | 4U << 9U | 1U) << "context 1 + 128";
  EXPECT_EQ(get.index_ext, 1);
  EXPECT_EQ(get.match_bits, 0x0160'0000'0001'0001U);
  EXPECT_EQ(get.request_len, 4000U);
  EXPECT_EQ(get.local_addr & 0xfffff, 0x1064U) << "arena offset by the device's address";
  ASSERT_TRUE(endpoint->write_tagged(peer, 0x10002, payload, 2));
  const DmaCommand put = only_sent();
  EXPECT_EQ(opcode_of(put.command), opcode::kPut);
  EXPECT_EQ(put.dfa, 0x2b3U << 12U | 1U);
  EXPECT_EQ(put.match_bits, 0x0160'0000'0001'0002U);
  ASSERT_TRUE(endpoint->answer_tagged(peer, 0x10003, 0x1122'3344'5566'7788U, 3));
  const DmaCommand answer = only_sent();
  EXPECT_EQ(answer.match_bits, 0x0150'0000'0001'0003U);
  EXPECT_EQ(answer.header_data, 0x1122'3344'5566'7788U);
  EXPECT_EQ(answer.request_len, 0U);
  for (const DmaCommand& command : {put, answer, get})
    nic.answer(command);
  for (const std::uint64_t cookie : {2U, 3U, 1U}) {
    const auto done = next();
    EXPECT_EQ(done.event, FabricEvent::kRemoteDone);
    EXPECT_EQ(done.cookie, cookie);
  }
  EXPECT_EQ(counted(Id::kBounces), 0U);
}

TEST_F(CassiniTx, ScatteredBulkIsBounced) {
  start();
  const std::array<Fragment, 2> apart{{{{0, 0}, 100}, {{0, 5000}, 100}}};
  const lnet::Payload payload{apart, 50, 100};
  ASSERT_TRUE(endpoint->read_tagged(peer, 1, payload, 1));
  ASSERT_TRUE(endpoint->write_tagged(peer, 2, payload, 2));
  EXPECT_EQ(endpoint->write_tagged(peer, 3, payload, 3).error(), Errc::kAgain) << "no block left";
  EXPECT_EQ(endpoint->transmitter().in_flight(), 2U);
  poll();
  for (const DmaCommand& command : nic.sent())
    nic.answer(command);
  EXPECT_TRUE(next().status.has_value());
  EXPECT_TRUE(next().status.has_value());
  EXPECT_EQ(counted(Id::kBounces), 2U);
  EXPECT_TRUE(endpoint->write_tagged(peer, 3, payload, 3)) << "blocks have come home";
  const std::array<Fragment, 2> adjacent{{{{0, 0}, 100}, {{0, 100}, 100}}};
  ASSERT_TRUE(endpoint->write_tagged(peer, 4, {adjacent, 0, 200}, 4));
  EXPECT_EQ(counted(Id::kBounces), 3U) << "neighbours are one piece";
}

TEST_F(CassiniTx, ReturnCodesBecomeErrors) {
  start();
  const std::vector<std::pair<ReturnCode, Errc>> cases{
      {ReturnCode::kUndeliverable, Errc::kNoRoute}, {ReturnCode::kVniNotFound, Errc::kNoRoute},
      {ReturnCode::kPtlteNotFound, Errc::kNoRoute}, {ReturnCode::kResourceBusy, Errc::kRefused},
      {ReturnCode::kCanceled, Errc::kIo},           {static_cast<ReturnCode>(7), Errc::kIo}};
  for (const auto& [code, errc] : cases) {
    ASSERT_TRUE(endpoint->send(peer, kHeader, {}, 1));
    nic.answer(only_sent(), code);
    const auto done = next();
    ASSERT_FALSE(done.status.has_value());
    EXPECT_EQ(done.status.error(), errc) << name_of(code);
  }
  EXPECT_EQ(counted(Id::kFailures), cases.size());
}

TEST_F(CassiniTx, PeerWithoutABufferIsAskedAgainUntilItsTimeIsOver) {
  start();
  ASSERT_TRUE(endpoint->send(peer, kHeader, {}, 1));
  DmaCommand put = only_sent();
  unsigned tries = 0;
  while (upper.log.empty() && tries < 1000) {
    nic.answer(put, tries % 5 == 0 ? ReturnCode::kPtDisabled : ReturnCode::kEntryNotFound);
    poll();
    for (unsigned wait = 0; wait < 100 && upper.log.empty(); ++wait) {
      poll(std::chrono::milliseconds(1));
      const auto again = nic.sent();
      if (again.empty()) continue;
      EXPECT_EQ(again[0], put) << "the same command";
      break;
    }
    ++tries;
  }
  EXPECT_GT(tries, 40U);
  EXPECT_LT(tries, 1000U);
  ASSERT_FALSE(upper.log.empty());
  EXPECT_EQ(upper.log.front().status.error(), Errc::kRefused);
  EXPECT_GE(now - Instant{}, config.not_ready_time);
  EXPECT_EQ(counted(Id::kReposts), tries - 1);
  upper.log.clear();

  ASSERT_TRUE(endpoint->send(peer, kHeader, {}, 2));
  put = only_sent();
  nic.answer(put, ReturnCode::kEntryNotFound);
  poll();
  EXPECT_LT(endpoint->next_deadline(), now + std::chrono::milliseconds(1));
  poll(std::chrono::milliseconds(1));
  nic.answer(only_sent());
  EXPECT_TRUE(next().status.has_value()) << "now there is one";
}

TEST_F(CassiniTx, RepeatedSendsUseThePresentAddress) {
  config.link_period = std::chrono::milliseconds(1);
  start();
  ASSERT_TRUE(endpoint->send(peer, kHeader, {}, 1));
  const DmaCommand put = only_sent();
  nic.answer(put, ReturnCode::kEntryNotFound);
  nic.info.nic_address = 0x1b0;
  poll();
  poll(std::chrono::milliseconds(5));
  DmaCommand again = only_sent();
  EXPECT_EQ(again.initiator, 1U << 23U | 0x1b0U);
  again.initiator = put.initiator;
  EXPECT_EQ(again, put) << "and otherwise the same";
}

TEST_F(CassiniTx, ATaggedBufferIsAskedForAsBrieflyAsTheKernelDoes) {
  start();
  const Fragment buffer{{0, 0}, 65536};
  const lnet::Payload payload{{&buffer, 1}, 0, 100};
  ASSERT_TRUE(endpoint->read_tagged(peer, 7, payload, 1));
  nic.answer(only_sent(), ReturnCode::kPtDisabled);
  EXPECT_FALSE(next().status.has_value()) << "the kernel does not ask again";
  ASSERT_TRUE(endpoint->read_tagged(peer, 7, payload, 2));
  DmaCommand get = only_sent();
  unsigned tries = 0;
  while (upper.log.empty() && tries < 100) {
    nic.answer(get, ReturnCode::kEntryNotFound);
    poll();
    for (unsigned wait = 0; wait < 100 && upper.log.empty(); ++wait) {
      poll(std::chrono::microseconds(10));
      const auto again = nic.sent();
      if (again.empty()) continue;
      EXPECT_EQ(again[0], get);
      break;
    }
    ++tries;
  }
  EXPECT_GT(tries, 2U);
  EXPECT_LT(tries, 10U) << "by then the tag may name another buffer";
  EXPECT_EQ(next().status.error(), Errc::kRefused);
}

TEST_F(CassiniTx, OperationsAreLimitedAndComeBack) {
  start();
  for (std::uint64_t i = 0; i < 64; ++i)
    ASSERT_TRUE(endpoint->send(peer, kHeader, {}, i));
  EXPECT_EQ(endpoint->send(peer, kHeader, {}, 64).error(), Errc::kAgain);
  poll();
  const auto commands = nic.sent();
  ASSERT_EQ(commands.size(), 64U);
  std::set<std::uint64_t> names;
  for (const DmaCommand& command : commands) {
    names.insert(command.user_ptr);
    nic.answer(command);
  }
  EXPECT_EQ(names.size(), 64U);
  for (unsigned i = 0; i < 8; ++i)
    poll();
  EXPECT_EQ(upper.log.size(), 64U);
  nic.answer(commands[0]);
  poll();
  EXPECT_EQ(upper.log.size(), 64U) << "an event of an ended operation";
  EXPECT_EQ(counted(Id::kStaleEvents), 1U);
}

TEST_F(CassiniTx, AddressesAndLimitsAreChecked) {
  start();
  EXPECT_FALSE(endpoint->resolve(0xfffff, 1).has_value()) << "any NIC";
  EXPECT_FALSE(endpoint->resolve(1, 511).has_value()) << "any PID";
  EXPECT_EQ(endpoint->send({peer.address, 128}, kHeader, {}, 1).error(), Errc::kInvalid);
  const std::vector<std::byte> long_header(5000);
  EXPECT_EQ(endpoint->send(peer, long_header, {}, 1).error(), Errc::kTooBig);
  endpoint->forget(peer.address);
  EXPECT_EQ(endpoint->send(peer, kHeader, {}, 1).error(), Errc::kInvalid);
}

TEST_F(CassiniTx, LinkAndNicAddressChange) {
  start();
  nic.info.link_up = false;
  poll(std::chrono::seconds(2));
  nic.info.link_up = true;
  nic.info.nic_address = 0x1b0;
  poll(std::chrono::seconds(2));
  EXPECT_EQ(upper.links,
            (std::vector<std::pair<bool, std::uint64_t>>{{false, 0x1a2}, {true, 0x1b0}}));
  ASSERT_TRUE(endpoint->send(peer, kHeader, {}, 1));
  EXPECT_EQ(only_sent().initiator, 1U << 23U | 0x1b0U) << "we are another now";
  nic.failing = "link";
  poll(std::chrono::seconds(2));
  EXPECT_FALSE(upper.links.back().first);
}

}  // namespace
}  // namespace plnet::cassini::endpoint_tx_test
