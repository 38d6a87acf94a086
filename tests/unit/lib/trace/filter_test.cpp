// SPDX-License-Identifier: BSD-3-Clause
// Filters as text, and their meaning.
#include <array>
#include <string>

#include <gtest/gtest.h>

#include "lib/trace/filter/compiler.hpp"
#include "lib/trace/filter/expression.hpp"
#include "tests/unit/lib/trace/records.hpp"

namespace plnet::trace::filter_test {
namespace {

using records::Bytes;

FilterInput input_of(const Record& record) {
  FilterInput input;
  fill_header(record, input);
  fill_content(decode(record), input);
  return input;
}

bool matches(std::string_view text, const FilterInput& input) {
  const auto expression = Expression::parse(text);
  EXPECT_TRUE(expression.has_value()) << text << (expression ? "" : expression.error().what);
  return expression && expression->matches(input);
}

FilterInput read_request() {
  static const Bytes kPayload = records::payload_of("ptlrpc", "request.4/real/ost-read-4m");
  return input_of(records::put(
      {.portal = 6, .match_bits = 0x69f14ce4bfe80, .direction = Direction::kSent}, kPayload));
}

TEST(TraceFilter, MatchesFieldsOfHeaderAndRpc) {
  const FilterInput input = read_request();
  for (const char* const text : {"",
                                 "msg_type=PUT",
                                 "put",
                                 "type put and portal OST_IO",
                                 "portal=6",
                                 "portal=ost_io_portal",
                                 "msg_type=PUT,portal=OST_IO",
                                 "dir SEND",
                                 "send",
                                 "src 10.0.0.0/24@tcp",
                                 "src 10.0.0.0/24@tcp and portal OST_IO and len > 400",
                                 "nid 10.0.0.2@tcp",
                                 "net tcp",
                                 "opc OST_READ",
                                 "opcode=3",
                                 "jobid cp.1000",
                                 "jobid=cp.*",
                                 "jobid != dd.0",
                                 "xid 0x69f14ce4bfe80",
                                 "match_bits >= 0x69f14ce4bfe80",
                                 "not get",
                                 "!(portal 12)",
                                 "uid 1000 && gid = 1000",
                                 "flags PACK_UID_GID",
                                 "pid 4242",
                                 "rpc",
                                 "rpc_type REQ",
                                 "dst != 10.0.0.1@tcp",
                                 "portal 12 or portal 6",
                                 "src 10.0.0.[1-3,9]@tcp",
                                 "src 10.0.0.[1-9/2]@tcp",
                                 "mbits 0x69f14ce4bfe83",
                                 "portal=\"OST_IO\"",
                                 "len=480",
                                 "len<=480,len>=480"}) {
    EXPECT_TRUE(matches(text, input)) << text;
  }
  for (const char* const text : {"get",
                                 "portal 12",
                                 "portal != 6",
                                 "dir RECV",
                                 "drop",
                                 "src 10.0.1.0/24@tcp",
                                 "src 10.0.0.1@tcp1",
                                 "src 10.0.0.1@o2ib",
                                 "net o2ib",
                                 "opc OST_WRITE",
                                 "jobid EMPTY",
                                 "status 0",
                                 "status != 0",
                                 "not put",
                                 "len > 480",
                                 "lst_type BRW_REQ",
                                 "selftest",
                                 "flags RESENT",
                                 "src 10.0.0.[2-8/2]@tcp",
                                 "reint SETATTR",
                                 "intent OPEN"}) {
    EXPECT_FALSE(matches(text, input)) << text;
  }
}

TEST(TraceFilter, AbsentFieldsNeverCompare) {
  const FilterInput input = input_of(records::reply({.handle = {1, 2}}, 100));
  EXPECT_FALSE(matches("portal 6", input));
  EXPECT_FALSE(matches("portal != 6", input));
  EXPECT_TRUE(matches("not portal 6", input));
  EXPECT_TRUE(matches("reply and len 100", input));
}

TEST(TraceFilter, StatusIsSigned) {
  const Bytes payload = records::payload_of("ptlrpc", "request.1/real/error-reply-enotconn");
  const FilterInput input = input_of(records::put({.portal = 4}, payload));
  EXPECT_TRUE(matches("status < 0", input));
  EXPECT_TRUE(matches("status -107", input));
  EXPECT_TRUE(matches("status != 0 and rpc_type ERR", input));
  EXPECT_FALSE(matches("status > -107", input));
}

TEST(TraceFilter, LargeNids) {
  Record record = records::get({.portal = 0}, 272);
  record.header.source =
      lnet::nid_of(lnet::make_net(lnet::NetType::kTcp), lnet::parse_ip("2001:db8::17").value());
  const FilterInput input = input_of(record);
  EXPECT_TRUE(matches("src 2001:db8::/32@tcp", input));
  EXPECT_TRUE(matches("src 2001:db8::17@tcp", input));
  EXPECT_TRUE(matches("src *@tcp", input));
  EXPECT_FALSE(matches("src 2001:db9::/32@tcp", input));
  EXPECT_FALSE(matches("src 32.1.13.184@tcp", input));
}

TEST(TraceFilter, ErrorsNameColumn) {
  struct Case {
    const char* text;
    const char* column;
    const char* expected;
  };
  for (const Case& one : std::to_array<Case>({
           {"portal", "column 7 ", "a value of portal"},
           {"portal OST_IOO", "column 8 ", "a value of portal"},
           {"porta 6", "column 1 ", "a field: msg_type, dir"},
           {"(portal 6", "column 10 ", "\")\""},
           {"portal 6 portal 7", "column 10 ", "and, or"},
           {"portal 6 and", "column 13 ", "a field"},
           {"src 10.0.0.1", "column 13 ", "\"@\" and a network"},
           {"src 10.0.0.300@tcp", "column ", "address part"},
           {"src < 10.0.0.1@tcp", "column 5 ", "= and !="},
           {"len > many", "column 7 ", "bytes of payload"},
           {"jobid 01234567890123456789012345678901", "column 7 ", "31 letters"},
       })) {
    const auto expression = Expression::parse(one.text);
    ASSERT_FALSE(expression.has_value()) << one.text;
    EXPECT_TRUE(expression.error().what.starts_with(one.column)) << expression.error().what;
    EXPECT_TRUE(expression.error().what.contains(one.expected)) << expression.error().what;
  }
}

TEST(TraceFilter, IsBounded) {
  EXPECT_FALSE(Expression::parse(std::string(5000, ' ')).has_value());
  EXPECT_FALSE(
      Expression::parse(std::string(100, '(') + "put" + std::string(100, ')')).has_value());
  std::string nots;
  for (int i = 0; i < 100; ++i)
    nots += "not ";
  EXPECT_FALSE(Expression::parse(nots + "put").has_value());
  std::string many = "put";
  for (int i = 0; i < 600; ++i)
    many += " or put";
  EXPECT_FALSE(Expression::parse(many).has_value());
  std::string wide = "src 10.0.0.1@tcp";
  for (int i = 0; i < 20; ++i)
    wide += " and (portal 1 or portal 2 or portal 3)";
  const auto expression = Expression::parse(wide);
  ASSERT_TRUE(expression.has_value());
  const auto program = compile(*expression);
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().code, Errc::kTooBig);
}

}  // namespace
}  // namespace plnet::trace::filter_test
