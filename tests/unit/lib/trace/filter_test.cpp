// SPDX-License-Identifier: BSD-3-Clause
// Filters as text, what they mean, and programs that must mean the same.
#include <array>
#include <string>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "lib/trace/filter/compiler.hpp"
#include "lib/trace/filter/expression.hpp"
#include "tests/unit/lib/trace/records.hpp"
#ifdef PLNET_WITH_DPDK
#include "lib/runtime/trace/filter_runner.hpp"
#endif

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

#ifdef PLNET_WITH_DPDK

// Random filters over random inputs; most values come from a few, so that terms are often true.
class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  std::string filter(unsigned depth = 0) {
    switch (depth > 3 ? 0 : random_.below(5)) {
      case 1: return "(" + filter(depth + 1) + " and " + filter(depth + 1) + ")";
      case 2: return "(" + filter(depth + 1) + " or " + filter(depth + 1) + ")";
      case 3: return "not " + filter(depth + 1);
      default: return term();
    }
  }

  FilterInput input() {
    FilterInput input;
    auto* const bytes = reinterpret_cast<unsigned char*>(&input);
    for (std::size_t i = 0; i < sizeof input; ++i)
      bytes[i] = random_.below(3) == 0 ? static_cast<unsigned char>(random_.below(5)) : 0;
    input.record.type = static_cast<std::uint8_t>(random_.below(4));
    input.record.source = nid();
    input.record.destination = nid();
    input.record.hop = nid();
    input.status = -static_cast<std::int32_t>(random_.below(3));
    input.job = {};
    for (std::size_t i = 0; i < random_.below(4); ++i)
      input.job[i] = static_cast<char>('a' + random_.below(2));
    return input;
  }

 private:
  lnet::Nid nid() {
    if (random_.below(4) == 0) {
      return lnet::nid_of(
          lnet::make_net(lnet::NetType::kTcp),
          lnet::parse_ip(random_.below(2) == 0 ? "2001:db8::1" : "a00:1::").value());
    }
    if (random_.below(20) == 0) return lnet::Nid::any();
    const auto type = random_.below(2) == 0 ? lnet::NetType::kTcp : lnet::NetType::kKfi;
    return lnet::Nid::of(type, static_cast<std::uint16_t>(random_.below(2) * 200),
                         static_cast<std::uint32_t>(0x0a000000 + random_.below(20)));
  }

  std::string term() {
    static constexpr std::array kRanges = std::to_array<const char*>(
        {"10.0.0.[1-9/2]@tcp", "*@tcp", "10.0.0.0/28@tcp", "2001:db8::/32@tcp", "10.0.0.3@tcp200",
         "[167772160-167772170/3]@kfi", "*@kfi200", "10.[0-9].*.[1-3,7,9-15/3]@tcp",
         "2001:db8::1@tcp", "0.0.0.0/1@tcp"});
    static constexpr std::array kComparisons =
        std::to_array<const char*>({"=", "!=", "<", "<=", ">", ">="});
    const auto fields = filter_fields();
    const Field& field = fields[random_.below(fields.size())];
    const bool ordered = field.kind == FieldKind::kNumber || field.kind == FieldKind::kSigned;
    const std::string comparison = kComparisons[random_.below(ordered ? kComparisons.size() : 2)];
    const std::string begin = std::string(field.name) + comparison;
    switch (field.kind) {
      case FieldKind::kNid: return begin + kRanges[random_.below(kRanges.size())];
      case FieldKind::kNet: return begin + (random_.below(2) == 0 ? "tcp" : "kfi200");
      case FieldKind::kJob: {
        static constexpr std::array kJobs =
            std::to_array<const char*>({"a", "ab", "a*", "EMPTY", "*", "abababababab*"});
        return begin + kJobs[random_.below(kJobs.size())];
      }
      default: break;
    }
    if (random_.below(6) == 0) return begin + std::to_string(random_.next());
    if (random_.below(6) == 0) return begin + "0x80000000";
    return begin + std::to_string(random_.below(5));
  }

  Random random_;
};

TEST(TraceFilterProgram, MeansTheSameAsExpression) {
  std::size_t hits = 0;
  std::size_t filters = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Maker maker(seed);
    const std::string text = maker.filter();
    const auto expression = Expression::parse(text);
    ASSERT_TRUE(expression.has_value()) << text << ": " << expression.error().what;
    const auto program = compile(*expression);
    if (!program) continue;
    const auto runner = runtime::FilterRunner::load(*program);
    ASSERT_TRUE(runner.has_value()) << text;
    ++filters;
    for (int i = 0; i < 50; ++i) {
      FilterInput input = maker.input();
      const bool wanted = expression->matches(input);
      hits += wanted ? 1 : 0;
      ASSERT_EQ(runner->matches(input), wanted) << text << " seed " << seed;
      ASSERT_EQ(runner->interpret(input), wanted) << text << " seed " << seed;
    }
  }
  EXPECT_GT(filters, 350U);
  EXPECT_GT(hits, filters * 5);
}

TEST(TraceFilterProgram, EmptyFilterMatches) {
  const auto runner = runtime::FilterRunner::load(compile(Expression()).value());
  ASSERT_TRUE(runner.has_value());
  FilterInput input;
  EXPECT_TRUE(runner->matches(input));
#if defined(__x86_64__)
  EXPECT_TRUE(runner->is_machine_code());
#endif
}

TEST(TraceFilterProgram, RefusesReadsOutsideInput) {
  BpfProgram program{.instructions = {{.code = bpf::kLoadDouble, .registers = 0x10, .offset = 272},
                                      {.code = bpf::kExit}}};
  EXPECT_FALSE(runtime::FilterRunner::load(program).has_value());
  program.instructions[0].offset = 264;
  EXPECT_TRUE(runtime::FilterRunner::load(program).has_value());
}

#endif

}  // namespace
}  // namespace plnet::trace::filter_test
