// SPDX-License-Identifier: BSD-3-Clause
// Every golden vector of an srpc message, both ways, and messages of the other byte order.
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/wire/process_id_codec.hpp"
#include "lib/selftest/srpc_codec.hpp"
#include "tests/unit/lib/lnet/vectors.hpp"

namespace plnet::selftest::srpc_vectors_test {
namespace {

namespace vectors = lnet::vectors;
using vectors::Bytes;
using vectors::Json;

const Json& selftest_vectors() {
  static const Json loaded = vectors::load("selftest");
  return loaded;
}

// Fills a message with the values of a vector, whose fields are in wire order.
class FillFields {
 public:
  FillFields(const Json& vector, const std::vector<std::string>& names)
      : vector_(vector), names_(names) {}

  template <class... Fields>
  void operator()(Fields&... fields) {
    (fill(fields), ...);
  }
  [[nodiscard]] bool used_all() const { return next_ == names_.size(); }

 private:
  template <class T>
  void fill(T& field) {
    if constexpr (std::is_same_v<T, TestParameters>) {
      std::visit([this](auto& parameters) { this->fill(parameters); }, field);
    } else if constexpr (Composite<T>) {
      T::each(field, *this);
    } else if constexpr (std::is_same_v<T, Name>) {
      field = vectors::raw<Name>(vector_, names_.at(next_++));
    } else if constexpr (!std::is_same_v<T, RawParameters>) {
      field = static_cast<T>(vectors::number(vector_, names_.at(next_++)));
    }
  }

  const Json& vector_;
  const std::vector<std::string>& names_;
  std::size_t next_ = 0;
};

using Names = std::vector<std::string>;
const Names kHeaderNames = {"magic", "version", "type", "reserved0", "reserved1", "ses_feats"};

Names operator+(Names first, const Names& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}
const Names kSid = {"sid.nid", "sid.stamp"};
const Names kRequest = {"rpyid", "sid.nid", "sid.stamp"};
const Names kReply = {"status", "sid.nid", "sid.stamp"};
const Names kTest =
    Names{"rpyid", "bulkid"} + kSid +
    Names{"batch_id", "service", "loop", "concur", "is_client", "stop_onerr", "ndest"};

struct Case {
  Body empty;
  Names names;
};
const std::map<std::string, Case>& cases() {
  static const std::map<std::string, Case> all = {
      {"MAKE_SESSION_REQ", {MakeSessionRequest{}, kRequest + Names{"force", "name"}}},
      {"MAKE_SESSION_REPLY", {MakeSessionReply{}, kReply + Names{"timeout", "name"}}},
      {"REMOVE_SESSION_REQ", {RemoveSessionRequest{}, kRequest}},
      {"REMOVE_SESSION_REPLY", {RemoveSessionReply{}, kReply}},
      {"BATCH_REQ", {BatchRequest{}, kRequest + Names{"batch_id", "opc", "testidx", "arg"}}},
      {"BATCH_REPLY", {BatchReply{}, kReply + Names{"active", "time"}}},
      {"STAT_REQ", {StatRequest{}, kRequest + Names{"type_"}}},
      {"STAT_REPLY",
       {StatReply{}, kReply + Names{"fw.running_ms",     "fw.active_batches", "fw.zombie_sessions",
                                    "fw.brw_errors",     "fw.ping_errors",    "rpc.errors",
                                    "rpc.rpcs_sent",     "rpc.rpcs_rcvd",     "rpc.rpcs_dropped",
                                    "rpc.rpcs_expired",  "rpc.bulk_get",      "rpc.bulk_put",
                                    "lnet.msgs_alloc",   "lnet.msgs_max",     "lnet.errors",
                                    "lnet.send_count",   "lnet.recv_count",   "lnet.route_count",
                                    "lnet.drop_count",   "lnet.send_length",  "lnet.recv_length",
                                    "lnet.route_length", "lnet.drop_length"}}},
      {"TEST_REQ.ping",
       {TestRequest{.parameters = PingParameters{}}, kTest + Names{"ping.size", "ping.flags"}}},
      {"TEST_REQ.bulk_v0",
       {TestRequest{.parameters = BulkParametersV0{}},
        kTest + Names{"bulk.opc", "bulk.npages", "bulk.flags"}}},
      {"TEST_REQ.bulk_v1",
       {TestRequest{.parameters = BulkParametersV1{}},
        kTest + Names{"bulk.opc", "bulk.flags", "bulk.len", "bulk.offset"}}},
      {"TEST_REPLY", {TestReply{}, kReply}},
      {"DEBUG_REQ", {DebugRequest{}, kRequest + Names{"flags"}}},
      {"DEBUG_REPLY", {DebugReply{}, kReply + Names{"timeout", "nbatch", "name"}}},
      {"BRW_REQ", {BrwRequest{}, {"rpyid", "bulkid", "rw", "len", "flags"}}},
      {"BRW_REPLY", {BrwReply{}, {"status"}}},
      {"PING_REQ", {PingRequest{}, {"rpyid", "ping_magic", "seq", "time_sec", "time_nsec"}}},
      {"PING_REPLY", {PingReply{}, {"status", "ping_magic", "seq"}}},
      {"JOIN_REQ", {JoinRequest{}, kRequest + Names{"group"}}},
      {"JOIN_REPLY", {JoinReply{}, kReply + Names{"timeout", "session"}}},
  };
  return all;
}

constexpr std::string_view kPrefix = "srpc_msg.";

// The service in a synthetic message is invalid: it gets the one that matches its parameters.
void make_readable(const std::string& structure, Header& header, TestRequest& test) {
  test.service = structure.ends_with("ping") ? Service::kPing : Service::kBrw;
  header.features &= ~kFeatureBulkLength;
  if (structure.ends_with("v1")) header.features |= kFeatureBulkLength;
}

template <class T>
void expect_round_trip(const Json& vector, const std::string& structure, T body) {
  Header header;
  FillFields header_fields(vector, kHeaderNames);
  Header::each(header, header_fields);
  FillFields body_fields(vector, cases().at(structure).names);
  T::each(body, body_fields);
  EXPECT_TRUE(header_fields.used_all() && body_fields.used_all());

  const bool opposite = vectors::name(vector).starts_with("opposite");
  const Bytes given = vectors::bytes_of(vector);
  std::array<std::byte, kMessageBytes> bytes{};
  encode(header, body, bytes);
  if (opposite) {
    ASSERT_EQ(given.size(), bytes.size());
    std::memcpy(bytes.data(), given.data(), given.size());
  } else {
    EXPECT_EQ(vectors::to_hex(bytes), vectors::hex(vector));
    header.magic = kMagic;
    if constexpr (std::is_same_v<T, TestRequest>) make_readable(structure, header, body);
    encode(header, body, bytes);
  }
  const auto received = decode_header(bytes);
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->swapped, opposite);
  EXPECT_EQ(received->header, header);
  EXPECT_EQ(decode_body<T>(bytes, *received), body);
  if (vectors::name(vector).find("/real/") == std::string::npos) return;
  EXPECT_EQ(header.type, T::kType);
  const auto message = decode_message(bytes);
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->body, Body(body));
}

TEST(SrpcVectors, EveryMessageBothWays) {
  std::size_t seen = 0;
  std::size_t opposite = 0;
  for (const Json& vector : selftest_vectors()) {
    auto structure = vector["struct"].get<std::string>();
    if (!structure.starts_with(kPrefix)) continue;
    structure.erase(0, kPrefix.size());
    SCOPED_TRACE(vectors::name(vector));
    ASSERT_TRUE(cases().contains(structure));
    std::visit([&](const auto& empty) { expect_round_trip(vector, structure, empty); },
               cases().at(structure).empty);
    ++seen;
    opposite += vectors::name(vector).starts_with("opposite") ? 1 : 0;
  }
  EXPECT_EQ(seen, 361U);
  EXPECT_EQ(opposite, 4U);
}

TEST(SrpcVectors, ListsOfDestinations) {
  std::size_t lists = 0;
  std::size_t offsets = 0;
  for (const Json& vector : selftest_vectors()) {
    const auto structure = vector["struct"].get<std::string>();
    SCOPED_TRACE(vectors::name(vector));
    if (structure == "dest_list") {
      const Bytes bytes = vectors::bytes_of(vector);
      const auto count = static_cast<std::uint32_t>(bytes.size() / kDestinationBytes);
      for (std::uint32_t i = 0; i < count; ++i) {
        const auto entry =
            std::span(bytes).subspan(destination_offset(i)).first<lnet::kProcessIdBytes>();
        const lnet::ProcessId id = lnet::decode_process_id(entry);
        EXPECT_EQ(id.pid, lnet::kLustrePid);
        EXPECT_EQ(id.nid, lnet::Nid::of(lnet::NetType::kTcp, 0, 0xc0a8010a + i));
      }
      ++lists;
    } else if (structure == "dest_list_offset") {
      EXPECT_EQ(destination_offset(vectors::word(vector, "index")),
                vectors::number(vector, "byte_offset"));
      ++offsets;
    }
  }
  EXPECT_EQ(lists, 4U);
  EXPECT_EQ(offsets, 9U);
}

}  // namespace
}  // namespace plnet::selftest::srpc_vectors_test
