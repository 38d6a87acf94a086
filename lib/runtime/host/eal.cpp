// SPDX-License-Identifier: BSD-3-Clause
// The only file of lib/runtime that includes EAL headers.
#include "lib/runtime/host/eal.hpp"

#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_log.h>

#include "lib/base/check.hpp"
#include "lib/runtime/host/memory.hpp"

namespace plnet::runtime {

struct Eal::State {
  std::function<void(EalLevel, std::string_view)> log;
  std::string first_line;  // of a failing start
  FILE* stream = nullptr;
  FILE* stream_before = nullptr;  // restored at the end
  bool started = false;
  EalArguments arguments;
  std::vector<std::unique_ptr<char[]>> words;  // EAL keeps pointers into its argv
  std::vector<char*> argv;
  std::vector<std::function<void()>> bodies;  // by shard; empty while none runs
  std::vector<bool> planned;                  // by shard
};

namespace {

// Receives the first line that this thread makes EAL write.
thread_local std::string* first_heard = nullptr;

EalLevel level_of(int level) {
  if (level <= 0 || level > static_cast<int>(RTE_LOG_WARNING)) return EalLevel::kDetail;
  return level == static_cast<int>(RTE_LOG_WARNING) ? EalLevel::kWarning : EalLevel::kError;
}

// EAL warns of each page size of the machine without free pages. The node needs one size and says
// itself if it lacks pages.
bool about_pages(std::string_view line) {
  return line.contains("hugepages reported");
}

// EAL mostly writes whole lines.
void pass_lines(const std::function<void(EalLevel, std::string_view)>& log, EalLevel level,
                std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (!line.empty() && log) log(about_pages(line) ? EalLevel::kDetail : level, line);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

int run_body(void* body) {
  (*static_cast<std::function<void()>*>(body))();
  return 0;
}

}  // namespace

Eal::Eal(std::unique_ptr<State> state) : state_(std::move(state)) {}

Outcome<std::unique_ptr<Eal>> Eal::start(const EalRequest& request,
                                         std::span<const HugepagePool> pools) {
  static_assert(kEalLcoresMax <= RTE_MAX_LCORE);
  auto arguments = eal_arguments(request, pools);
  if (!arguments) return std::unexpected(std::move(arguments.error()));

  auto state = std::make_unique<State>();
  state->log = request.log;
  state->arguments = std::move(*arguments);
  for (const std::string& word : state->arguments.words) {
    auto copy = std::make_unique<char[]>(word.size() + 1);
    word.copy(copy.get(), word.size());
    state->argv.push_back(copy.get());
    state->words.push_back(std::move(copy));
  }
  state->argv.push_back(nullptr);
  for (const EalLcore& lcore : request.lcores) {
    if (state->planned.size() <= lcore.shard) state->planned.resize(lcore.shard + 1);
    state->planned[lcore.shard] = true;
  }
  state->bodies.resize(state->planned.size());

  const cookie_io_functions_t functions = {
      .read = nullptr,
      .write = [](void* cookie, const char* text, std::size_t size) -> ssize_t {
        auto& self = *static_cast<State*>(cookie);
        // The usage text and the summary that follow a bad option say less than the first line.
        if (!self.started && self.first_line.empty()) self.first_line.assign(text, size);
        if (first_heard != nullptr && first_heard->empty()) first_heard->assign(text, size);
        // The level of the message that this thread is writing: EAL flushes each before it returns.
        pass_lines(self.log, level_of(rte_log_cur_msg_loglevel()), {text, size});
        return static_cast<ssize_t>(size);
      },
      .seek = nullptr,
      .close = nullptr};
  state->stream = ::fopencookie(state.get(), "w", functions);
  if (state->stream == nullptr) return failure(Errc::kNoMemory, "eal: no stream for its log");
  // Line buffering, also with many threads.
  (void)std::setvbuf(state->stream, nullptr, _IOLBF, BUFSIZ);
  state->stream_before = rte_log_get_stream();
  rte_openlog_stream(state->stream);

  auto eal = std::unique_ptr<Eal>(new Eal(std::move(state)));
  State& self = *eal->state_;
  if (rte_eal_init(static_cast<int>(self.argv.size()) - 1, self.argv.data()) < 0) {
    const int number = rte_errno;
    while (!self.first_line.empty() && self.first_line.back() == '\n')
      self.first_line.pop_back();
    const Errc code = number == EALREADY ? Errc::kExists : errc_of_errno(number);
    std::string text = fmt::format("eal: cannot start with `{}`: {}{}",
                                   command_line(self.arguments), rte_strerror(number),
                                   self.first_line.empty() ? "" : "; it said: " + self.first_line);
    if (number == ENOMEM) text += "; " + memory_limits_text();
    return failure(code, std::move(text));
  }
  self.started = true;
  return eal;
}

Eal::~Eal() {
  if (state_->started) {
    join_all();
    (void)rte_eal_cleanup();
  }
  rte_openlog_stream(state_->stream_before);
  if (state_->stream != nullptr) (void)std::fclose(state_->stream);
}

Outcome<void> Eal::launch(unsigned shard, std::function<void()> body) {
  if (shard >= state_->planned.size() || !state_->planned[shard])
    return failure(Errc::kNotFound, fmt::format("eal: shard {} is not in the plan", shard));
  const unsigned lcore = eal_lcore_of(shard);
  if (rte_eal_get_lcore_state(lcore) != WAIT)
    return failure(Errc::kBusy, fmt::format("eal: shard {} runs already", shard));
  state_->bodies[shard] = std::move(body);
  const int rc = rte_eal_remote_launch(run_body, &state_->bodies[shard], lcore);
  PLNET_CHECK(rc == 0, "a waiting lcore takes a function");
  return {};
}

void Eal::join(unsigned shard) {
  PLNET_CHECK(shard < state_->planned.size() && state_->planned[shard], "a shard of the plan");
  (void)rte_eal_wait_lcore(eal_lcore_of(shard));
  state_->bodies[shard] = nullptr;
}

void Eal::join_all() {
  for (unsigned shard = 0; shard < state_->planned.size(); ++shard) {
    if (state_->planned[shard]) join(shard);
  }
}

Outcome<void> Eal::attach(const std::string& device) {
  std::string why;
  first_heard = &why;
  const int rc = rte_dev_probe(device.c_str());
  first_heard = nullptr;
  while (!why.empty() && why.back() == '\n')
    why.pop_back();
  if (rc >= 0) return {};
  return failure(errc_of_errno(-rc), fmt::format("DPDK cannot make {}: {}", device,
                                                 why.empty() ? rte_strerror(-rc) : why.c_str()));
}

bool Eal::hugepages() const {
  return state_->arguments.hugepages;
}
const std::string& Eal::memory_line() const {
  return state_->arguments.memory_line;
}

}  // namespace plnet::runtime
