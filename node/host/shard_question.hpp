// SPDX-License-Identifier: BSD-3-Clause
// Questions to a shard, or to the coordinator on shard 0, which answers at once.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "lib/lnet/control/coordinator.hpp"
#include "lib/lnet/node/node.hpp"
#include "node/host/lnet_desk.hpp"

namespace plnet::node {

// An answer that is an Outcome already is not wrapped again.
template <class T>
struct AnswerOf {
  using Type = Outcome<T>;
};
template <class T>
struct AnswerOf<Outcome<T>> {
  using Type = Outcome<T>;
};

// `question` runs on the shard; `reply` gets its answer as an Outcome, on the admin thread.
// kNetworkDown: the shard has no node.
template <class Question, class Reply>
void ask_shard(LnetDesk& desk, unsigned shard, Question question, Reply reply) {
  using Answer = typename AnswerOf<std::invoke_result_t<Question&, lnet::Node&>>::Type;
  struct Job {
    Question question;
    Reply reply;
    Answer answer = failure(Errc::kNetworkDown, "Network is down");
  };
  auto job = std::make_shared<Job>(std::move(question), std::move(reply));
  auto sent = desk.order(
      shard, [job](lnet::Node& node) { job->answer = job->question(node); },
      [job] { job->reply(std::move(job->answer)); });
  if (!sent) job->reply(Answer(std::unexpected(std::move(sent.error()))));
}

template <class Question, class Reply>
void ask_node(LnetDesk& desk, Question question, Reply reply) {
  ask_shard(desk, 0, std::move(question), std::move(reply));
}

template <class Question, class Reply>
void ask_coordinator(LnetDesk& desk, Question question, Reply reply) {
  ask_node(
      desk,
      [question = std::move(question)](lnet::Node& node) mutable {
        return question(node.coordinator());
      },
      std::move(reply));
}

}  // namespace plnet::node
