// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/plan_line.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "apps/lnet-selftest/run/plan_reader.hpp"
#include "lib/runtime/verbs/verb_row.hpp"

namespace plnet::run {
namespace {

using runtime::row_makers::flag;
using runtime::row_makers::text;
using runtime::row_makers::texts;

constexpr auto kOptions = std::to_array<apps::OptionRow>({
    texts("from", 'f', "NIDS",
          "clients: NIDs, ranges like 10.0.0.[1-8]@tcp, hostfile:FILE, slurm:JOB"),
    texts("to", 't', "NIDS", "servers"),
    text("test", 0, "LIST", "of read, write, ping; read,write"),
    text("size", 's', "LIST", "of bytes, up to 1M; 1M"),
    text("concurrency", 'c', "LIST", "requests under way for each client; 8"),
    text("rate", 0, "LIST", "requests a second of all clients, independent of answers: 10k,50k"),
    text("arrivals", 0, "HOW", "distribution: poisson, constant; poisson"),
    text("highest-rate", 0, "GOAL", "search the highest rate: p99:200 is 99 % within 200 us"),
    texts("control", 0, "NID=SOCKET", "control socket of a client on another host"),
    texts("router", 0, "SOCKET",
          "control socket of a router between them, to have it in the report"),
    flag("force", 0, "make consoles and nodes drop sessions of others"),
    text("check", 0, "HOW", "none, simple, full, discard; none"),
    flag("allow-discard", 0, "assert that no kernel node is older than June 2026"),
    text("distribute", 'd', "D:S", "D clients share S servers; 1:1"),
    text("warmup", 0, "TIME", "before each measurement; 1s"),
    text("duration", 0, "TIME", "of a measurement; 5s"),
    text("repeats", 0, "N", "of every point; 3"),
    flag("baseline", 0, "measure bare TCP and memcpy of this host with each repeat"),
    text("name", 0, "NAME", "of the run and its session"),
    text("min-throughput", 0, "MIB", "a second, of every point"),
    text("min-rate", 0, "RPCS", "a second, of every point"),
    text("max-p99", 0, "US", "latency, of every point"),
    text("max-errors", 0, "N", "of every point"),
});

// Reads the options one by one and keeps the first error.
class LineReader {
 public:
  explicit LineReader(const apps::Arguments& arguments) : arguments_(arguments) {}

  template <class T, class Out>
  void one(std::string_view name, Out& out, Outcome<T> (*read)(std::string_view)) {
    if (!arguments_.has(name)) return;
    take(name, read(arguments_.text(name)), [&out](T value) { out = std::move(value); });
  }
  template <class T>
  void limit(std::string_view name, std::optional<T>& out, Outcome<T> (*read)(std::string_view)) {
    if (!arguments_.has(name)) return;
    take(name, read(arguments_.text(name)), [&out](T value) { out = value; });
  }
  template <class T>
  void list(std::string_view name, std::vector<T>& out, Outcome<T> (*read)(std::string_view)) {
    if (!arguments_.has(name)) return;
    const auto words = split_list(arguments_.text(name));
    if (words.size() > kListMax && !error_)
      error_ = Error{Errc::kInvalid, fmt::format("--{}: more than {} values", name, kListMax)};
    out.clear();
    for (const std::string& word : words)
      take(name, read(word), [&out](T value) { out.push_back(std::move(value)); });
  }
  void words(std::string_view name, std::vector<std::string>& out) {
    if (arguments_.has(name)) out = split_list(arguments_.text(name));
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  template <class T, class Put>
  void take(std::string_view name, Outcome<T> value, Put put) {
    if (value) return put(std::move(*value));
    if (!error_)
      error_ = Error{value.error().code, fmt::format("--{}: {}", name, value.error().what)};
  }

  const apps::Arguments& arguments_;
  std::optional<Error> error_;
};

Outcome<void> read_line(const apps::Arguments& arguments, Plan& plan) {
  LineReader reader(arguments);
  reader.words("from", plan.from_words);
  reader.words("to", plan.to_words);
  reader.words("router", plan.routers);
  plan.force = plan.force || arguments.has("force");
  reader.list("test", plan.tests, read_operation);
  reader.list("size", plan.sizes, read_size);
  reader.list("concurrency", plan.concurrencies, read_concurrency);
  reader.list("rate", plan.rates, read_rate);
  reader.one("arrivals", plan.arrivals, read_arrivals);
  reader.one("highest-rate", plan.highest_rate, read_goal);
  // Either one on the command line replaces the other in the file.
  if (arguments.has("rate") && !arguments.has("highest-rate")) plan.highest_rate.reset();
  if (arguments.has("highest-rate") && !arguments.has("rate")) plan.rates.clear();
  std::vector<std::pair<std::string, std::string>> sockets;
  reader.list("control", sockets, read_control);
  for (auto& [node, socket] : sockets)
    plan.control[node] = socket;
  reader.one("check", plan.check, read_check);
  reader.one("distribute", plan.distribution, lst::read_distribution);
  reader.one("warmup", plan.warm_up, read_duration);
  reader.one("duration", plan.duration, read_duration);
  reader.one("repeats", plan.repeats, read_repeats);
  reader.limit("min-throughput", plan.limits.throughput_min_mibps, read_amount);
  reader.limit("min-rate", plan.limits.rate_min_rps, read_amount);
  reader.limit("max-p99", plan.limits.p99_max_us, read_amount);
  reader.limit("max-errors", plan.limits.errors_max, read_count);
  if (arguments.has("name")) plan.name = arguments.text("name");
  if (arguments.has("allow-discard")) plan.allow_discard = true;
  if (arguments.has("baseline")) plan.baseline = true;
  if (const auto& error = reader.error()) return std::unexpected(*error);
  return {};
}

}  // namespace

std::span<const apps::OptionRow> plan_options() {
  return kOptions;
}

Outcome<Plan> plan_of(const apps::Arguments& arguments, const ReadFile& read_file,
                      const HostDirectory* hosts, Plan plan) {
  if (arguments.positional.size() > 1)
    return failure(Errc::kInvalid, "one plan at a time: several files are named");
  if (!arguments.positional.empty()) {
    const std::string& path = arguments.positional.front();
    const auto file = read_file(path);
    if (!file) return std::unexpected(file.error());
    if (const auto read = read_plan(*file, path, plan); !read)
      return std::unexpected(read.error().to_error());
  }
  if (const auto read = read_line(arguments, plan); !read) return std::unexpected(read.error());
  for (auto* const words : {&plan.from_words, &plan.to_words}) {
    if (hosts == nullptr) break;
    if (const auto named = replace_hosts(*words, *hosts); !named)
      return std::unexpected(named.error());
  }
  if (const auto finished = finish_plan(plan); !finished) return std::unexpected(finished.error());
  return plan;
}

}  // namespace plnet::run
