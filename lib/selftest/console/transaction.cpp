// SPDX-License-Identifier: BSD-3-Clause
#include "lib/selftest/console/transaction.hpp"

#include <utility>

namespace plnet::selftest {

namespace {

bool is(std::uint32_t status, Status wanted) {
  return status == static_cast<std::uint32_t>(wanted);
}

// All replies of the framework begin with these fields.
struct FrameworkReplyStart {
  Status status = Status::kOk;
  SessionId session;
  template <class Self, class Fields>
  static constexpr void each(Self& self, Fields&& fields) {
    fields(self.status, self.session);
  }
};

}  // namespace

bool FeatureAgreement::agree(std::uint32_t theirs) {
  if ((theirs & ~kFeaturesKnown) != 0) return false;
  if (!fixed) {
    fixed = true;
    value = theirs;
  }
  return value == theirs;
}

int rpc_errno_of(Errc code) {
  return code == Errc::kCancelled ? EINTR : errno_of(code);
}

Transaction::Transaction(TransactionKind kind, std::vector<ConsoleNodePtr> whom,
                         const Request& what, FeatureAgreement& agreed)
    : nodes(std::move(whom)), request(what), features(agreed), features_sent(agreed.value) {
  result.kind = kind;
  result.nodes.resize(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    result.nodes[i].id = nodes[i]->id;
}

SessionId Transaction::session() const {
  return std::visit([](const auto& body) { return body.session; }, request);
}

void Transaction::take_failure(std::size_t index, int error, Instant now) {
  result.nodes[index].rpc_errno = error;
  result.nodes[index].when = now;
}

void Transaction::take_reply(std::size_t index, const ClientRpc& rpc, Instant now) {
  NodeResult& one = result.nodes[index];
  ConsoleNode& node = *nodes[index];
  const auto start = rpc.reply<FrameworkReplyStart>();
  one.when = now;
  one.status = std::to_underlying(start.status);
  one.session = start.session;
  node.take_reply(start.session, session(), now);
  one.refused = judge(rpc, node, one);
}

bool Transaction::judge(const ClientRpc& rpc, ConsoleNode& node, NodeResult& one) {
  const bool good = is(one.status, Status::kOk);
  switch (result.kind) {
    case TransactionKind::kMakeSession:
      if (good && !features.agree(rpc.reply_header().header.features))
        one.status = std::to_underlying(Status::kProtocol);
      if (is(one.status, Status::kBusy)) {
        // The reply names the session that the node has.
        const auto reply = rpc.reply<MakeSessionReply>();
        one.seen = PingSeen{.timeout_s = reply.timeout_s, .session_name = reply.name};
      }
      if (!is(one.status, Status::kOk)) return true;
      node.timeout_s = rpc.reply<MakeSessionReply>().timeout_s;
      return false;
    case TransactionKind::kRemoveSession: return !good && !is(one.status, Status::kNoSession);
    case TransactionKind::kPing:
      count_ping(one);
      if (good) {
        const auto reply = rpc.reply<DebugReply>();
        one.seen = PingSeen{.timeout_s = reply.timeout_s, .session_name = reply.name};
      }
      return false;
    case TransactionKind::kStop: return !good && !is(one.status, Status::kNotPermitted);
    case TransactionKind::kQueryClients:
    case TransactionKind::kQueryServers: {
      const std::uint32_t active = rpc.reply<BatchReply>().active;
      ++(active != 0 ? result.running : result.idle);
      if (good) one.seen = QuerySeen{.active = active};
      return !good;
    }
    case TransactionKind::kStat:
      if (good) {
        const auto reply = rpc.reply<StatReply>();
        one.seen = StatSeen{reply.framework, reply.rpc, reply.lnet};
      }
      return !good;
    case TransactionKind::kAddServers:
    case TransactionKind::kAddClients:
    case TransactionKind::kRun: return !good;
  }
  return true;
}

void Transaction::count_ping(const NodeResult& one) {
  if (is(one.status, Status::kNoSession)) {
    ++result.unknown;
  } else {
    ++(one.session == session() ? result.active : result.busy);
  }
}

void Transaction::conclude() {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    NodeResult& one = result.nodes[i];
    one.state = nodes[i]->state;
    if (one.rpc_errno != 0) {
      ++result.rpcs_failed;
      if (result.rpc_errno == 0) result.rpc_errno = one.rpc_errno;
    } else if (one.refused) {
      ++result.refused;
      if (result.framework_errno == 0) result.framework_errno = static_cast<int>(one.status);
    }
  }
  result.features = features.value;
}

}  // namespace plnet::selftest
