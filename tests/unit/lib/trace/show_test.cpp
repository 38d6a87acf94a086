// SPDX-License-Identifier: BSD-3-Clause
// Outputs: the lines shown in the talk about LNet tracing, JSON, summaries and charts.
#include <array>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/trace/show/chart.hpp"
#include "lib/trace/show/format.hpp"
#include "lib/trace/show/json.hpp"
#include "lib/trace/show/line.hpp"
#include "lib/trace/show/summary.hpp"
#include "lib/trace/show/words.hpp"
#include "tests/unit/lib/trace/records.hpp"

namespace plnet::trace::show_test {
namespace {

using records::Bytes;
using records::kClient;
using records::kServer;
using records::Put;

constexpr const char* kTalk = "%-5c [%-15Lm] %-5Ls %-5Lt %-20LP [%-16Pj] %-30Po";

// A message of one buffer, with this opcode and job.
Bytes rpc(std::uint32_t opcode, std::string_view job, std::uint32_t type = kRpcRequest) {
  Bytes bytes = records::payload_of("ptlrpc", "request.1/real/obd-ping");
  constexpr std::size_t kBody = 40;
  std::memcpy(&bytes[kBody + offsetof(RpcBodyWire, opcode)], &opcode, sizeof opcode);
  std::memcpy(&bytes[kBody + offsetof(RpcBodyWire, type)], &type, sizeof type);
  std::memset(&bytes[kBody + offsetof(RpcBodyWire, job)], 0, kJobIdBytes);
  std::memcpy(&bytes[kBody + offsetof(RpcBodyWire, job)], job.data(), job.size());
  return bytes;
}

std::string shown(const char* format, std::uint64_t number, const Put& put, const Bytes& payload) {
  const Message message = decode(records::put(put, payload));
  const Paired paired;
  return Format::parse(format).value().line(
      {.number = number, .message = message, .paired = paired});
}

TEST(TraceFormat, LinesOfTalk) {
  const auto line = [](std::uint64_t number, std::uint64_t bits, Direction direction,
                       std::uint32_t portal, std::string_view job, std::uint32_t opcode) {
    return shown(kTalk, number, {.portal = portal, .match_bits = bits, .direction = direction},
                 rpc(opcode, job));
  };
  EXPECT_EQ(line(26660, 0x69F14CE4BFE80, Direction::kSent, 6, "kworker.0", 3),
            "26660 [0x69F14CE4BFE80] SEND  PUT   OST_IO               [kworker.0       ] OST_READ");
  EXPECT_EQ(line(26661, 0x69F14CE4BFE80, Direction::kReceived, 6, "kworker.0", 3),
            "26661 [0x69F14CE4BFE80] RECV  PUT   OST_IO               [kworker.0       ] OST_READ");
  EXPECT_EQ(line(26662, 0x69F14CE4BFE80, Direction::kSent, 4, "", 3),
            "26662 [0x69F14CE4BFE80] SEND  PUT   OSC_REPLY            [EMPTY           ] OST_READ");
  EXPECT_EQ(
      line(26664, 0x69F14CE4BFF00, Direction::kSent, 17, "ldlm.bl.0", 103),
      "26664 [0x69F14CE4BFF00] SEND  PUT   LDLM_CANCEL_REQUEST  [ldlm.bl.0       ] LDLM_CANCEL");
  EXPECT_EQ(line(26668, 0x69F14CE4BFF80, Direction::kSent, 12, "systemd-timesyn.996", 101),
            "26668 [0x69F14CE4BFF80] SEND  PUT   MDS_REQUEST          [systemd-timesyn.996] "
            "LDLM_ENQUEUE");
  EXPECT_EQ(
      line(26692, 0x69F14CE4C0300, Direction::kSent, 12, "systemd-timesyn.996", 36),
      "26692 [0x69F14CE4C0300] SEND  PUT   MDS_REQUEST          [systemd-timesyn.996] MDS_REINT");
}

TEST(TraceFormat, EveryCode) {
  const Bytes payload = records::payload_of("ptlrpc", "request.4/real/ost-read-4m");
  const Put put{.portal = 6,
                .match_bits = 0x69f14ce4bfe80,
                .time_ns = 1'700'000'000'123'456'789,
                .handle = {0xa, 0xb}};
  const auto one = [&](const char* code) { return shown(code, 7, put, payload); };
  for (const auto& [code, text] : std::to_array<std::pair<const char*, const char*>>({
           {"%c", "7"},
           {"%t", "1700000000.123456789"},
           {"%T", "22:13:20.123456"},
           {"%d", "0.000000000"},
           {"%D", "-"},
           {"%n", "tcp"},
           {"%i", "-"},
           {"%LH", "10.0.0.2@tcp"},
           {"%Lf>%Lr", "10.0.0.1@tcp>10.0.0.2@tcp"},
           {"%LF", "12345-10.0.0.1@tcp"},
           {"%LR", "12345-10.0.0.2@tcp"},
           {"%Lp %Ll %Lo %Lk %Lh", "6 480 0 - 0x0"},
           {"%Lw", "0xA.0xB"},
           {"%Px %PT %PS", "0x69F14CE4BFE80 REQ -"},
           {"%Pf %PF", "PACK_UID_GID 0"},
           {"%Pt %Pc %Pl %Pu %Pg %Pp", "0 1 30 1000 1000 0"},
           {"%Pb %Pi %Pr", "0x69F14CE4BFE83 - -"},
           {"%Ss %St %Sr", "- - -"},
           {"%05c|%5c|%-5c|", "00007|    7|7    |"},
           {"%.3LP%%", "OST%"},
           {"%-8.3LP|", "OST     |"},
           {"no code  ", "no code"},
       })) {
    EXPECT_EQ(one(code), text) << code;
  }
  const Bytes brw = records::payload_of("selftest", "srpc_msg.BRW_REPLY/real/ebadmsg");
  EXPECT_EQ(shown("%Ss %St %Po", 1, {.portal = 52}, brw), "BRW_REPLY 74 -");
}

TEST(TraceFormat, ErrorsNameColumn) {
  EXPECT_TRUE(Format::parse("%c %q").error().what.starts_with("column 5 "));
  EXPECT_TRUE(Format::parse("%").error().what.starts_with("column 2 "));
  EXPECT_TRUE(Format::parse("%9999c").error().what.contains("at most 256"));
  EXPECT_TRUE(Format::parse("%L").error().what.contains("%LP"));
}

TEST(TraceJson, HasFieldsOfRpc) {
  const Bytes payload = records::payload_of("ptlrpc", "request.4/real/ost-read-4m");
  const Message message =
      decode(records::put({.portal = 6, .match_bits = 0x69f14ce4bfe80}, payload));
  const Paired paired;
  const auto json = nlohmann::json::parse(json_of({.message = message, .paired = paired}));
  EXPECT_EQ(json["portal"], "OST_IO");
  EXPECT_EQ(json["rpc"]["opc"], "OST_READ");
  EXPECT_EQ(json["rpc"]["jobid"], "cp.1000");
  EXPECT_EQ(json["rpc"]["pid"], 4242);
  EXPECT_EQ(json["rpc"]["uid"], 1000);
  EXPECT_EQ(json["rpc"]["bulk"]["bytes"], 4 << 20);
  EXPECT_FALSE(json["rpc"].contains("status"));
}

TEST(TraceJson, SurvivesTextOfStrangers) {
  const Bytes payload = rpc(3, "\xff\x1b[31m");
  const Message message = decode(records::put({.portal = 6}, payload));
  const Paired paired;
  const Sighting sighting{.message = message, .paired = paired};
  EXPECT_TRUE(nlohmann::json::accept(json_of(sighting)));
  EXPECT_FALSE(line_of(sighting, false).contains('\x1b'));
}

// A small conversation, for summaries and charts.
template <class Use>
void converse(Use&& use, ExchangeSink* sink = nullptr) {
  PairUp pairs(sink);
  std::uint64_t number = 0;
  const Bytes request = rpc(3, "cp.0");
  const Bytes reply = rpc(3, "", kRpcReply);
  const Bytes bulk(4096);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::uint64_t bits = 0x1000 + 0x80 * i;
    const std::uint64_t time = 1'000'000'000 + 1'000'000 * i;
    const std::array<Record, 3> records = {
        records::put({.portal = 6, .match_bits = bits, .time_ns = time}, request),
        records::put({.source = kServer,
                      .destination = kClient,
                      .portal = 8,
                      .match_bits = bits,
                      .time_ns = time + 100'000},
                     bulk),
        records::put({.source = kServer,
                      .destination = kClient,
                      .portal = 4,
                      .match_bits = bits,
                      .offset = 224,
                      .time_ns = time + 200'000},
                     reply)};
    for (const Record& record : records) {
      const Message message = decode(record);
      const Paired paired = pairs.add(message);
      use(Sighting{.number = ++number, .message = message, .paired = paired});
    }
  }
  pairs.finish();
}

TEST(TraceSummary, CountsAndTimes) {
  Summary summary;
  converse([&](const Sighting& sighting) { summary.add(sighting.message); }, &summary);
  EXPECT_EQ(summary.messages(), 9U);
  const auto json = nlohmann::json::parse(summary.json());
  EXPECT_EQ(json["operations"][0]["name"], "OST_READ");
  EXPECT_EQ(json["operations"][0]["answered"], 3);
  EXPECT_EQ(json["operations"][0]["bulk_bytes"], 3 * 4096);
  EXPECT_EQ(json["operations"][0]["max_ns"], 200'000);
  EXPECT_TRUE(summary.text().contains("10.0.0.1@tcp > 10.0.0.2@tcp"));
  EXPECT_TRUE(
      summary.metrics().contains("lnetdump_latency_seconds_count{operation=\"OST_READ\"} 3"));
  Summary twice;
  twice.merge(summary);
  twice.merge(summary);
  EXPECT_EQ(twice.messages(), 18U);
  const auto merged = nlohmann::json::parse(twice.json());
  EXPECT_EQ(merged["operations"][0]["answered"], 6);
  EXPECT_EQ(merged["operations"][0]["max_ns"], 200'000);
}

TEST(TraceChart, DrawsConversation) {
  Chart chart;
  converse([&](const Sighting& sighting) { chart.add(sighting); });
  const std::string text = chart.text();
  EXPECT_TRUE(text.contains("10.0.0.1@tcp"));
  EXPECT_TRUE(text.contains(">| OST_READ") || text.contains(">|")) << text;
  const std::string mermaid = chart.mermaid();
  EXPECT_TRUE(mermaid.starts_with("sequenceDiagram\n"));
  EXPECT_TRUE(mermaid.contains("n0->>n1: OST_READ"));
  EXPECT_TRUE(mermaid.contains("n1-->>n0: OST_READ"));
  EXPECT_TRUE(mermaid.contains("n1->>n0: bulk "));
  const std::string html = chart.html();
  EXPECT_TRUE(html.contains("arrow bulk"));
  EXPECT_TRUE(html.ends_with("</html>\n"));
  EXPECT_FALSE(html.contains("http"));
}

TEST(TraceChart, IsBounded) {
  Chart chart;
  for (int i = 0; i < 300; ++i)
    converse([&](const Sighting& sighting) { chart.add(sighting); });
  EXPECT_EQ(chart.left_out(), 2700 - Chart::kArrowsMax);
  EXPECT_TRUE(chart.text().contains("700 messages left out"));
}

TEST(TraceWords, Units) {
  EXPECT_EQ(size_text(0), "0B");
  EXPECT_EQ(size_text(1023), "1023B");
  EXPECT_EQ(size_text(1536), "1.5KiB");
  EXPECT_EQ(size_text(1U << 20U), "1.0MiB");
  EXPECT_EQ(duration_text(999), "999ns");
  EXPECT_EQ(duration_text(1500), "1.5us");
  EXPECT_EQ(duration_text(2'500'000'000), "2.50s");
  EXPECT_EQ(escape_html("<a&\"\x01>"), "&lt;a&amp;&quot;?&gt;");
  EXPECT_EQ(text_of_time(1'700'000'000'000'000'001), "2023-11-14T22:13:20.000000001Z");
}

}  // namespace
}  // namespace plnet::trace::show_test
