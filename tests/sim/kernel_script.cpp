// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/kernel_script.hpp"

#include <algorithm>
#include <utility>

#include "tests/sim/accepting.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

// A PUT or GET shows the cookie of its creator.
void learn(KernelScript::Side& side, const WireItem& item) {
  if (item.kind == WireItem::Kind::kHello) {
    side.nid = item.hello.source;
    side.incarnation = item.hello.source_incarnation;
  }
  const bool asks =
      item.kind == WireItem::Kind::kMessage && !item.handle().is_none() &&
      (item.header.type == MessageType::kPut || item.header.type == MessageType::kGet);
  if (asks) side.interface_cookie = item.handle().interface_cookie;
}

}  // namespace

KernelScript script_of(const std::vector<mocks::CapturedStream>& streams) {
  KernelScript script;
  std::vector<mocks::CaptureEnd> callers;
  for (const mocks::CapturedStream& stream : streams) {
    const bool dialled = stream.to.port == kAcceptPort;
    const mocks::CaptureEnd& caller = dialled ? stream.from : stream.to;
    if (stream.gaps > 0) script.trouble = "bytes are missing from it";
    auto known = std::ranges::find(callers, caller);
    if (known == callers.end()) {
      known = callers.insert(known, caller);
      script.ports.push_back(caller.port);
    }
    const auto connection = static_cast<unsigned>(known - callers.begin());
    WireSplitter splitter(dialled);
    splitter.take(stream.bytes);
    if (splitter.rest() > 0) script.trouble = "it ends within a message";
    for (WireItem& item : splitter.items()) {
      learn(dialled ? script.dialler : script.answerer, item);
      const std::size_t packet = stream.packet_of(item.end());
      script.lines.push_back({connection, dialled, packet, std::move(item)});
    }
  }
  // A packet belongs to one stream and may contain several lines.
  std::ranges::sort(script.lines, {}, [](const KernelScript::Line& line) {
    return std::pair(line.packet, line.item.begin);
  });
  script.connections = static_cast<unsigned>(callers.size());
  return script;
}

}  // namespace plnet::sim
