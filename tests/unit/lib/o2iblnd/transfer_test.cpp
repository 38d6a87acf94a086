// SPDX-License-Identifier: BSD-3-Clause
// IMMEDIATE, PUT and GET message by message, from both sides; credits and NOOPs on a connection;
// peers of version 1 and of the other byte order.
#include <algorithm>
#include <array>
#include <utility>

#include "lib/o2iblnd/write_chain.hpp"
#include "tests/unit/lib/o2iblnd/scripted_verbs.hpp"

namespace plnet::o2iblnd::transfer_test {
namespace {

using namespace std::chrono_literals;
using lnet::MessageType;

constexpr std::uint32_t kLarge = 1U << 20U;

// A buffer of the peer, in this many fragments of `each` bytes.
Bytes fragments(std::uint32_t count, std::uint32_t each) {
  Bytes bytes(count * sizeof(FragmentWire));
  for (std::uint32_t i = 0; i < count; ++i) {
    const FragmentWire wire{each, 0x7f00'0000'0400 + std::uint64_t{i} * 8192};
    std::memcpy(bytes.data() + i * sizeof wire, &wire, sizeof wire);
  }
  return bytes;
}

Message grant(const ScriptedNode& node, const Message& request, const Bytes& sink,
              bool swapped = false) {
  Message ack = node.message(Kind::kPutAck);
  ack.cookie = request.cookie;
  ack.sink_cookie = 0xabcd;
  ack.buffer = {77, {sink, swapped}};
  return ack;
}

std::uint64_t written(std::span<const WorkRequest> chain) {
  std::uint64_t bytes = 0;
  for (const WorkRequest& write : chain) {
    for (std::size_t i = 0; i < write.piece_count; ++i)
      bytes += write.pieces[i].length;
  }
  return bytes;
}

TEST(O2iblndTransfer, APutAsksAndWrites) {
  ScriptedNode node;
  (void)node.put(kLarge);
  node.establish();
  const Message request = node.next();
  EXPECT_EQ(request.kind, Kind::kPutRequest);
  EXPECT_EQ(request.header.payload_length, kLarge);
  EXPECT_EQ(node.facts().reserved, 7U);
  node.sent();
  EXPECT_EQ(node.completions(), 0U);
  const Bytes sink = fragments(1, kLarge);
  node.receive(grant(node, request, sink));
  const Message done = node.next();
  EXPECT_EQ(done.kind, Kind::kPutDone);
  EXPECT_EQ(done.cookie, 0xabcdU);
  EXPECT_EQ(done.status, static_cast<std::int32_t>(kLarge));
  const auto& chain = node.pair().chains.front();
  EXPECT_EQ(written(std::span(chain).first(chain.size() - 1)), kLarge);
  EXPECT_EQ(chain.front().remote_key, 77U);
  EXPECT_EQ(chain.front().remote_address, 0x7f00'0000'0400U);
  EXPECT_EQ(node.facts().reserved, 8U);
  EXPECT_EQ(node.completions(), 0U);
  node.sent();
  EXPECT_TRUE(node.last().status.has_value());
  node.expect_clean();
}

TEST(O2iblndTransfer, TheGrantMayOvertakeTheCompletion) {
  ScriptedNode node;
  (void)node.put(kLarge);
  node.establish();
  const Bytes sink = fragments(2, kLarge / 2);
  node.receive(grant(node, node.next(), sink));
  EXPECT_EQ(node.pair().chains.size(), 2U);
  node.sent();
  EXPECT_EQ(node.completions(), 0U);
  node.sent();
  EXPECT_EQ(node.completions(), 1U);
  EXPECT_TRUE(node.last().status.has_value());
  node.expect_clean();
}

TEST(O2iblndTransfer, ManyFragmentsOfAnyAlignment) {
  ScriptedNode node;
  (void)node.put(257 * 33);
  node.establish();
  node.receive(grant(node, node.next(), fragments(257, 33)));
  EXPECT_EQ(node.next().status, 257 * 33);
  const auto& chain = node.pair().chains.back();
  // One write for each fragment, and at most one more where the source crosses a piece.
  EXPECT_GE(chain.size(), 258U);
  node.expect_clean();
}

TEST(O2iblndTransfer, MoreWritesThanAgreedAreAnError) {
  ScriptedNode node;
  (void)node.put(6000);
  node.establish(0, 8, 4);
  node.receive(grant(node, node.next(), fragments(6, 1000)));
  const Message done = node.next();
  EXPECT_EQ(done.status, -EMSGSIZE);
  EXPECT_EQ(node.pair().chains.back().size(), 1U);  // no write
  node.sent();
  node.sent();
  node.expect_end(Errc::kTooBig, Health::kRemoteError);
}

TEST(O2iblndTransfer, ASinkThatWantsMoreThanThereIs) {
  ScriptedNode node;
  (void)node.put(6000);
  node.establish();
  node.receive(grant(node, node.next(), fragments(1, 7000)));
  EXPECT_EQ(node.next().status, -EPROTO);
  node.sent();
  node.sent();
  node.expect_end(Errc::kProtocol, Health::kRemoteError);
  node.expect_clean();
}

TEST(O2iblndTransfer, ANakEndsAPut) {
  for (const std::int32_t status : {0, -ENOMEM}) {
    ScriptedNode node;
    (void)node.put(kLarge);
    node.establish();
    Message nak = node.message(Kind::kPutNak);
    nak.cookie = node.next().cookie;
    nak.status = status;
    node.sent();
    node.receive(nak);
    ASSERT_EQ(node.completions(), 1U);
    EXPECT_EQ(node.last().status.has_value(), status == 0);
    EXPECT_EQ(node.facts().reserved, 8U);
    if (status != 0) node.expect_end(Errc::kNoMemory, Health::kRemoteError);
    node.expect_clean();
  }
}

TEST(O2iblndTransfer, AGetLaysItsSinkOpen) {
  ScriptedNode node;
  (void)node.get(kLarge);
  node.establish();
  const Message request = node.next();
  EXPECT_EQ(request.kind, Kind::kGetRequest);
  EXPECT_EQ(request.buffer.fragments.total(), kLarge);
  Message done = node.message(Kind::kGetDone);
  done.cookie = request.cookie;
  done.status = 5000;
  node.receive(done);  // before the completion of its request
  EXPECT_EQ(node.completions(), 0U);
  node.sent();
  EXPECT_TRUE(node.last().reply_placed);
  EXPECT_EQ(node.last().reply_length, 5000U);
  node.expect_clean();
}

TEST(O2iblndTransfer, AGetWithoutAMatch) {
  ScriptedNode node;
  (void)node.get(kLarge);
  node.establish();
  Message done = node.message(Kind::kGetDone);
  done.cookie = node.next().cookie;
  done.status = -ENODATA;
  node.sent();
  node.receive(done);
  node.expect_end(Errc::kNoData, Health::kRemoteError);
}

TEST(O2iblndTransfer, SmallAndRoutedGetsAreImmediate) {
  ScriptedNode node;
  (void)node.get(kInlineBytesMax);
  node.establish();
  EXPECT_EQ(node.next().kind, Kind::kImmediate);
  node.core->get(ScriptedNode::nid(2), kLarge).next_hop_is_router = true;
  node.turn();
  EXPECT_EQ(node.next().kind, Kind::kImmediate);
  (void)node.put(kInlineBytesMax);
  EXPECT_EQ(node.next().nob, kMessageBytes);
  (void)node.put(kInlineBytesMax + 1);
  EXPECT_EQ(node.next().kind, Kind::kPutRequest);
  node.expect_clean();
}

Message put_request(const ScriptedNode& node, std::uint32_t length, std::uint64_t cookie = 0x11) {
  Message one = node.message(Kind::kPutRequest);
  one.header.type = MessageType::kPut;
  one.header.destination = ScriptedNode::nid(1);
  one.header.source = ScriptedNode::nid(2);
  one.header.payload_length = length;
  one.cookie = cookie;
  return one;
}

Message done_of(const ScriptedNode& node, const Message& ack, std::int32_t status) {
  Message done = node.message(Kind::kPutDone);
  done.cookie = ack.sink_cookie;
  done.status = status;
  return done;
}

TEST(O2iblndTransfer, APeersPutIsGranted) {
  ScriptedNode node;
  const std::size_t index = node.accepted();
  node.receive(put_request(node, kLarge), index);
  const Message ack = node.next();
  EXPECT_EQ(ack.kind, Kind::kPutAck);
  EXPECT_EQ(ack.cookie, 0x11U);
  EXPECT_EQ(ack.buffer.fragments.total(), kLarge);
  // The grant returns no credit; PUT_DONE does.
  EXPECT_EQ(node.facts().owed, 0U);
  EXPECT_EQ(node.facts().held, 1U);
  node.sent(index);
  EXPECT_EQ(node.core->tally().puts, 0U);
  node.receive(done_of(node, ack, static_cast<std::int32_t>(kLarge)), index);
  EXPECT_EQ(node.core->tally().puts, 1U);
  EXPECT_EQ(node.next().credits, 1);  // returned with the ACK
  EXPECT_EQ(node.facts().held, 0U);
  node.expect_clean();
}

TEST(O2iblndTransfer, APeersPutThatFails) {
  ScriptedNode node;
  const std::size_t index = node.accepted();
  node.receive(put_request(node, kLarge), index);
  const Message ack = node.next();
  node.receive(done_of(node, ack, -EIO), index);  // before the completion of the grant
  EXPECT_EQ(node.core->tally().receive_failures, 0U);
  node.sent(index);
  EXPECT_EQ(node.core->tally().receive_failures, 1U);
  node.expect_clean();
}

TEST(O2iblndTransfer, AnUnwantedPutGetsANak) {
  ScriptedNode node(ScriptedNode::small(), 0, 100);
  const std::size_t index = node.accepted();
  node.receive(put_request(node, kLarge), index);
  const Message nak = node.next();
  EXPECT_EQ(nak.kind, Kind::kPutNak);
  EXPECT_EQ(nak.status, 0);
  EXPECT_EQ(nak.credits, 1);
  node.expect_clean();
}

Message get_request(const ScriptedNode& node, const Bytes& sink, std::uint32_t length) {
  Message one = node.message(Kind::kGetRequest);
  one.header.type = MessageType::kGet;
  one.header.destination = ScriptedNode::nid(1);
  one.header.source = ScriptedNode::nid(2);
  lnet::GetArea area{};
  area.sink_length = length;
  one.header.set_area(area);
  one.cookie = 0x22;
  one.buffer = {78, {sink, false}};
  return one;
}

TEST(O2iblndTransfer, APeersGetIsWritten) {
  ScriptedNode node;
  const std::size_t index = node.accepted();
  const Bytes sink = fragments(3, 3000);
  node.receive(get_request(node, sink, 9000), index);
  const Message done = node.next();
  EXPECT_EQ(done.kind, Kind::kGetDone);
  EXPECT_EQ(done.cookie, 0x22U);
  EXPECT_EQ(done.status, 9000);
  const auto& chain = node.pair(index).chains.front();
  EXPECT_EQ(written(std::span(chain).first(chain.size() - 1)), 9000U);
  EXPECT_EQ(node.core->tally().served_by_lnd, 0U);
  node.sent(index);
  EXPECT_EQ(node.core->tally().served_by_lnd, 1U);
  node.expect_clean();
}

TEST(O2iblndTransfer, AnUnmatchedGetHasNoData) {
  ScriptedNode node(ScriptedNode::small(), 0, 100);
  const std::size_t index = node.accepted();
  const Bytes sink = fragments(1, 9000);
  node.receive(get_request(node, sink, 9000), index);
  EXPECT_EQ(node.next().status, -ENODATA);
}

TEST(O2iblndTransfer, CreditsAreReturnedByNoops) {
  ScriptedNode node;
  const std::size_t index = node.accepted();
  Message ack = node.message(Kind::kImmediate);
  ack.header.type = MessageType::kAck;
  for (unsigned i = 0; i < 3; ++i)
    node.receive(ack, index);
  EXPECT_TRUE(node.driver.sent.empty());
  node.receive(ack, index);
  const Message noop = node.next();
  EXPECT_EQ(noop.kind, Kind::kNoop);
  EXPECT_EQ(noop.credits, 4);
  EXPECT_EQ(node.facts().credits, 8U);  // and costs none
  node.expect_clean();
}

TEST(O2iblndTransfer, MessagesWaitForCredits) {
  ScriptedNode node;
  for (unsigned i = 0; i < 12; ++i)
    (void)node.core->put(ScriptedNode::nid(2), 10, false);
  node.turn();
  node.establish();
  EXPECT_EQ(node.driver.sent.size(), 8U);
  while (!node.pair().chains.empty())
    node.sent();
  Message noop = node.message(Kind::kNoop);
  noop.credits = 3;
  node.receive(noop);
  EXPECT_EQ(node.driver.sent.size(), 11U);
  EXPECT_GT(node.count(LndId::kNoCredit), 0U);
  node.expect_clean();
}

TEST(O2iblndTransfer, ASilentConnectionIsKeptAlive) {
  ScriptedNode node;
  const std::size_t index = node.accepted();
  node.pass(100s);
  EXPECT_TRUE(node.driver.sent.empty());
  node.pass(3s);
  EXPECT_EQ(node.next().kind, Kind::kNoop);
  EXPECT_TRUE(node.driver.sent.empty());
  node.sent(index);
  node.expect_clean();
}

TEST(O2iblndTransfer, ARefusedPostIsTriedAgain) {
  ScriptedNode node;
  node.driver.refuse_posts = 3;
  (void)node.put(10);
  node.establish();
  for (unsigned i = 0; i < 4; ++i)
    node.turn();
  EXPECT_EQ(node.count(LndId::kPostsRefused), 3U);
  EXPECT_EQ(node.driver.sent.size(), 1U);
  EXPECT_EQ(node.facts().credits, 7U);
  node.expect_clean();
}

TEST(O2iblndTransfer, AParkedMessageDelaysOthersButNoAnswers) {
  ScriptedNode node(ScriptedNode::small(), 100);
  const std::size_t index = node.accepted();
  (void)node.put(kLarge);
  Message ack = node.message(Kind::kImmediate);
  ack.header.type = MessageType::kPut;
  node.receive(ack, index);
  node.receive(ack, index);
  EXPECT_EQ(node.count(LndId::kReceivedImmediates), 1U);
  EXPECT_TRUE(node.facts().parked);
  node.receive(grant(node, node.next(), fragments(1, kLarge)), index);
  EXPECT_EQ(node.next().kind, Kind::kPutDone);
  node.core->resume_all();
  node.turn();
  EXPECT_EQ(node.count(LndId::kReceivedImmediates), 2U);
  node.expect_clean();
}

TEST(O2iblndTransfer, AVersionOnePeer) {
  ScriptedNode node;
  node.version = kVersion1;
  const std::size_t index = node.accepted();
  EXPECT_EQ(node.pair(index).size.receive_requests, 16U);
  for (unsigned i = 0; i < 9; ++i)
    (void)node.core->put(ScriptedNode::nid(2), 10, false);
  node.turn();
  EXPECT_EQ(node.driver.sent.size(), 7U);  // the last credit is reserved for a NOOP
  Message first = node.next();
  EXPECT_EQ(first.version, kVersion1);
  Message noop = node.message(Kind::kNoop);
  noop.credits = 2;
  node.receive(noop, index);
  EXPECT_EQ(node.driver.sent.size(), 7U);  // at most eight are posted
  while (!node.pair(index).chains.empty())
    node.sent(index);
  EXPECT_EQ(node.driver.sent.size(), 8U);
  node.expect_clean();
}

TEST(O2iblndTransfer, APeerOfTheOtherByteOrder) {
  ScriptedNode node;
  const std::size_t index = node.accepted();
  (void)node.put(kLarge);
  const Message request = node.next();
  node.sent(index);
  Bytes bytes = ScriptedNode::bytes_of(grant(node, request, fragments(1, kLarge)));
  constexpr auto kFields = std::to_array<std::pair<int, int>>({{0, 4},
                                                               {4, 2},
                                                               {8, 4},
                                                               {12, 4},
                                                               {16, 8},
                                                               {24, 8},
                                                               {32, 8},
                                                               {40, 8},
                                                               {64, 4},
                                                               {68, 4},
                                                               {72, 4},
                                                               {76, 8}});
  for (const auto& [at, length] : kFields)
    std::ranges::reverse(
        std::span(bytes).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(length)));
  node.receive(bytes, index);
  const Message done = node.next();
  EXPECT_EQ(done.kind, Kind::kPutDone);
  EXPECT_EQ(done.cookie, 0xabcdU);
  EXPECT_EQ(node.pair(index).chains.front().front().remote_address, 0x7f00'0000'0400U);
  node.expect_clean();
}

TEST(O2iblndWriteChain, PiecesMeetInEveryWay) {
  std::vector<std::byte> memory(1U << 16U);
  for (std::uint32_t source_piece : {1U, 7U, 64U, 100U}) {
    for (std::uint32_t sink_piece : {1U, 5U, 64U, 300U}) {
      for (const unsigned pieces : {1U, 2U}) {
        const std::uint32_t length = 200;
        std::vector<Fragment> source;
        for (std::uint32_t at = 0; at < length; at += source_piece)
          source.push_back({{0, at * 3ULL}, source_piece});
        const std::uint32_t count = std::min(length / sink_piece + 1, kFragmentsMax);
        const Bytes sink = fragments(count, sink_piece);
        std::array<WorkRequest, kFragmentsMax> out;
        const auto used = make_writes({source, 0, length}, length, {9, {sink, false}},
                                      {.pieces_max = pieces}, out);
        ASSERT_TRUE(used.has_value());
        std::uint64_t bytes = 0;
        for (const WorkRequest& write : std::span(out).first(*used)) {
          const std::uint64_t here = written({&write, 1});
          bytes += here;
          EXPECT_GT(here, 0U);
          EXPECT_LE(write.piece_count, pieces);
          // Each write stays in one fragment of the sink.
          const std::uint64_t offset = (write.remote_address - 0x7f00'0000'0400) % 8192;
          EXPECT_LE(offset + here, sink_piece);
        }
        EXPECT_EQ(bytes, length);
      }
    }
  }
}

}  // namespace
}  // namespace plnet::o2iblnd::transfer_test
