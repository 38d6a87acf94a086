// SPDX-License-Identifier: BSD-3-Clause
// Transactions of kfilnd: HELLOs, immediate and bulk messages of peers, whole or any bytes, and
// messages of ours. Their operations end in any order, fail, are refused first or time out. Each
// transaction ends once, and the LND and its core keep their contract.
#include <algorithm>
#include <array>
#include <vector>

#include "tests/fuzz/kfilnd_message.hpp"
#include "tests/fuzz/script.hpp"
#include "tests/unit/lib/kfilnd/scripted_endpoint.hpp"

namespace plnet::kfilnd::transactions_fuzz {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;
using Call = ScriptedEndpoint::Call;
using Post = ScriptedEndpoint::Post;

constexpr unsigned kStepsMax = 200;
constexpr std::uint32_t kCoreBytes = 4U << 20U;
constexpr std::uint32_t kLengthMax = kCoreBytes / (2 * kStepsMax) - 64;  // a step may need two
constexpr std::array<Errc, 6> kErrors{Errc::kTimedOut, Errc::kNoSpace, Errc::kRefused,
                                      Errc::kIo,       Errc::kReset,   Errc::kNoRoute};
constexpr std::array<Call, 5> kRefusable{Call::kSend, Call::kPostTagged, Call::kRead, Call::kWrite,
                                         Call::kAnswer};

class Run {
 public:
  explicit Run(fuzz::Script& script)
      : script_(script),
        node_({.peers_max = 4,
               .receives_max = 6,
               .backlog_max = 16,
               .hellos_max = 4,
               .copies_max = 2},
              script.below(2) * 30, script.below(2) * 20, kCoreBytes, kLengthMax) {
    node_.endpoint.keeps_contract = true;
    node_.turn(seconds(1));
    if (script.below(4) != 0) meet();
  }

  void run() {
    for (unsigned i = 0; i < kStepsMax && !script_.empty(); ++i) {
      step();
      node_.turn();
    }
    const bool is_abrupt = script_.below(2) != 0;
    if (is_abrupt) node_.lnd->shut_down();
    node_.core->resume_all();
    for (unsigned i = 0; i < 400 && !over(); ++i) {
      while (!node_.endpoint.posts.empty())
        end(0, true);
      node_.core->resume_all();
      node_.turn(seconds(1));
      if (i == 200) node_.lnd->shut_down();
    }
    PLNET_CHECK(over(), "everything ends");
    PLNET_CHECK(node_.core->breaches().empty(), "the LND keeps its contract");
    PLNET_CHECK(node_.count(LndId::kStrayCompletions) == 0, "no completion is taken for another");
  }

 private:
  [[nodiscard]] bool over() const {
    return node_.core->settled() && node_.lnd->transactions() == 0 && node_.endpoint.posts.empty();
  }
  [[nodiscard]] unsigned peer() { return 1 + script_.below(4); }
  void meet() {
    for (const Kind kind : {Kind::kHelloRequest, Kind::kHelloResponse})
      land(bytes_of(hello_message(1, 0, kind, {.rx_base = 3, .session_key = 77})));
  }

  void step() {
    switch (script_.below(14)) {
      case 0: {
        lnet::Transmit& one =
            node_.core->put(nid_of(peer()), length(), script_.below(2) != 0, deadline());
        return ours_.push_back(&one);
      }
      case 1: return ours_.push_back(&node_.core->get(nid_of(peer()), length(), deadline()));
      case 2: {
        const Kind kind = script_.below(2) == 0 ? Kind::kHelloRequest : Kind::kHelloResponse;
        return land(bytes_of(hello_message(peer(), 0, kind,
                                           {.version = script_.byte(),
                                            .rx_base = script_.byte(),
                                            .session_key = script_.byte()})));
      }
      case 3:
      case 4: return message();
      case 5: {
        const auto any = script_.bytes(script_.byte());
        std::vector<std::byte> bytes(any.begin(), any.end());
        if (script_.below(4) != 0)
          put_right(bytes, script_.below(2) == 0 ? Kind::kBulkPut : Kind::kHelloRequest,
                    nid64_of(0), script_.byte());
        return land(bytes);
      }
      case 6:
      case 7:
      case 8:
      case 9: return end(script_.byte(), script_.below(4) != 0);
      case 10: return node_.turn(script_.below(2) == 0 ? milliseconds(200) : seconds(20));
      case 11:
        return node_.endpoint.fail_next(kRefusable[script_.below(kRefusable.size())],
                                        script_.below(2) == 0 ? Errc::kAgain : Errc::kIo,
                                        1 + script_.below(3));
      case 12:
        if (!ours_.empty()) node_.core->cancel(*ours_[script_.byte() % ours_.size()]);
        return;
      default: return node_.lnd->on_link(script_.below(2) == 0, kFirstNic + script_.below(2));
    }
  }
  std::uint32_t length() { return script_.number<std::uint16_t>() * 31U % (kLengthMax + 1); }
  Instant deadline() {
    return script_.below(2) == 0 ? Instant::max() : node_.now + seconds(script_.below(30));
  }
  // Versions, keys and contexts of all kinds, and impossible lengths.
  void message() {
    constexpr std::array<Kind, 3> kKinds{Kind::kImmediate, Kind::kBulkPut, Kind::kBulkGet};
    const Kind kind = kKinds[script_.below(3)];
    const auto type = static_cast<lnet::MessageType>(kind == Kind::kBulkGet ? 2 : script_.below(6));
    const std::uint32_t says = script_.below(4) == 0 ? script_.number<std::uint32_t>() : length();
    Message message = lnet_message(peer(), 0, kind, 1 + script_.below(3) % 2, type, says);
    message.response_rx = static_cast<std::uint8_t>(script_.below(20));
    message.key = script_.byte();
    message.session_key = script_.byte();
    if (type == lnet::MessageType::kPut)
      message.header.set_area(lnet::PutArea{.ack_handle = {1, script_.byte()}, .match_bits = 1});
    const std::uint32_t inlined = kind == Kind::kImmediate ? std::min(says, kInlineBytesMax) : 0;
    land(bytes_of(message, inlined));
  }
  // Puts the bytes into the buffer that is filled now, as endpoints do.
  void land(const std::vector<std::byte>& bytes) {
    if (node_.endpoint.buffers.empty() || node_.endpoint.down) return;
    const std::uint32_t most = node_.endpoint.limits().message_bytes_max;
    if (bytes.size() > most) return;
    used_ += static_cast<std::uint32_t>(bytes.size());
    const bool unlinks = node_.endpoint.buffers.begin()->second.length - used_ < most;
    if (unlinks) used_ = 0;
    node_.land(bytes, unlinks);
  }
  // Ends one of the operations under way. A cancelled buffer ends as cancelled.
  void end(std::size_t which, bool well) {
    auto& posts = node_.endpoint.posts;
    if (posts.empty()) return;
    const Post post = posts[which % posts.size()];
    const auto is_cancel = [&](const Post& each) {
      return each.call == Call::kCancel && each.tag == post.tag;
    };
    if (post.call == Call::kCancel ||
        (post.call == Call::kPostTagged && std::ranges::any_of(posts, is_cancel))) {
      std::erase_if(posts, is_cancel);
      const auto open = std::ranges::find_if(posts, [&](const Post& each) {
        return each.call == Call::kPostTagged && each.tag == post.tag;
      });
      if (open == posts.end()) return;
      const Post cancelled = *open;
      posts.erase(open);
      return node_.tell({.event = FabricEvent::kTaggedCancelled, .cookie = cancelled.cookie});
    }
    posts.erase(posts.begin() + static_cast<std::ptrdiff_t>(which % posts.size()));
    FabricCompletion done{.event = FabricEvent::kRemoteDone, .cookie = post.cookie};
    if (!well) done.status = std::unexpected(kErrors[script_.below(kErrors.size())]);
    if (post.call == Call::kSend) done.event = FabricEvent::kSent;
    if (post.call == Call::kPostTagged) {
      done.event = post.peer_reads ? FabricEvent::kTaggedRead : FabricEvent::kTaggedWritten;
      done.length = script_.below(2) == 0
                        ? post.payload.length
                        : std::min<std::uint32_t>(script_.byte(), post.payload.length);
      if (script_.below(4) == 3) {
        done.event = FabricEvent::kTaggedMessage;
        done.data = script_.number<std::uint64_t>();
      }
      if (!well) done.event = FabricEvent::kTaggedFailed;
    }
    node_.tell(done);
  }

  fuzz::Script& script_;
  ScriptedNode node_;
  std::vector<lnet::Transmit*> ours_;
  std::uint32_t used_ = 0;
};

}  // namespace
}  // namespace plnet::kfilnd::transactions_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plnet::fuzz::end_at_failures();
  plnet::fuzz::Script script(data, size);
  plnet::kfilnd::transactions_fuzz::Run(script).run();
  return 0;
}
