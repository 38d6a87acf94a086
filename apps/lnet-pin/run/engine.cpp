// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/run/engine.hpp"

#include <csignal>

#include <fmt/format.h>
#include <unistd.h>

#include "apps/lnet-selftest/lst/consoles.hpp"
#include "apps/lnet-selftest/run/conductor.hpp"

namespace plnet::pin {
namespace {

// Time for the session and its end beyond warm-up and measurement.
constexpr auto kEngineMargin = std::chrono::seconds(90);
// No progress is shown between the ends of a measurement; a session ends after 100 s without
// commands.
constexpr auto kSamplePeriod = std::chrono::seconds(10);
constexpr auto kEngineLook = std::chrono::milliseconds(50);
constexpr std::size_t kReportMax = std::size_t{32} << 20U;

constexpr const char* kEngineScript =
    "d=$(mktemp -d {folder}/report.XXXXXX) || exit 1; {program} run --run-dir {folder} --lock-dir "
    "{folder} --instance client --from {from} --to {to} --test {test} --size {size} --concurrency "
    "{concurrency} --warmup {warmup}ms --duration {duration}ms --repeats 1 --report \"$d\" "
    ">/dev/null; "
    "s=$?; cat \"$d/report.json\"; rm -rf \"$d\"; exit $s";

long milliseconds_of(Duration duration) {
  return static_cast<long>(duration / std::chrono::milliseconds(1));
}

Outcome<Figures> with_traffic(Figures figures) {
  if (figures.throughput_mibps <= 0 && figures.rpc_rate <= 0)
    return failure(Errc::kNoData, "no traffic passed");
  return figures;
}

// The console is the client's node, which has no other user.
class NodeDesk final : public run::Desk {
 public:
  NodeDesk(std::string socket, const Clock& clock)
      : socket_(std::move(socket)), consoles_("", clock) {}

  Asked begin_session(const Args& args) override { return ask("lst new_session", args); }
  Asked ask(std::string_view verb, const Args& args) override {
    return consoles_.ask(socket_, verb, args);
  }
  run::CpuTimes cpu_times() override { return {}; }  // NodeWatch reads them
  Asked set_pace(const run::Point& /*point*/) override { return lst::Json::object(); }
  void begin_latency(const run::Point& point) override {
    operation_ = run::text_of(point.operation);
    before_ = ask("selftest latency", Args::object());
  }
  run::Latencies end_latency() override {
    run::Latencies latencies;
    const auto after = ask("selftest latency", Args::object());
    if (!before_ || !after) return latencies;
    const auto seen = lst::latency_between(*before_, *after, operation_);
    if (!seen) return latencies;
    if (const auto figures = lst::figures_of(*seen); figures.count > 0) latencies.all = figures;
    return latencies;
  }
  std::optional<run::Floor> measure_floor(const run::Point& /*point*/) override {
    return std::nullopt;
  }

 private:
  const std::string socket_;
  lst::Consoles consoles_;
  std::string_view operation_;
  Asked before_;
};

class Silent final : public run::Watcher {
 public:
  void on_begin(const run::Point& /*point*/, unsigned /*repeat*/, std::size_t /*number*/,
                std::size_t /*total*/) override {}
  void on_sample(double /*throughput_mibps*/, double /*rpc_rate*/, bool /*warming_up*/) override {}
  void on_end(const run::Measurement& /*measurement*/) override {}
};

class EngineHere final : public Engine {
 public:
  EngineHere(run::Plan plan, std::string socket, const Clock& clock)
      : plan_(std::move(plan)),
        clock_(clock),
        desk_(std::move(socket), clock),
        conductor_(plan_,
                   {.key = static_cast<std::uint32_t>(::getpid()), .sample_period = kSamplePeriod},
                   desk_, watcher_) {}

  Outcome<std::optional<Instant>> step() override {
    const Instant next = conductor_.step(clock_.now());
    if (!conductor_.over()) return next;
    if (!conductor_.failure().empty())
      return failure(Errc::kIo, "the traffic: " + conductor_.failure());
    if (conductor_.measurements().empty())
      return failure(Errc::kNoData, "the traffic: nothing was measured");
    return std::nullopt;
  }

  [[nodiscard]] Outcome<Figures> figures() const override {
    const run::Measurement& measured = conductor_.measurements().front();
    Figures figures;
    figures.throughput_mibps = measured.throughput_mibps;
    figures.rpc_rate = measured.rpc_rate;
    figures.errors = measured.errors.total();
    if (measured.latency) {
      figures.p50_us = measured.latency->p50_us;
      figures.p99_us = measured.latency->p99_us;
    }
    return with_traffic(std::move(figures));
  }

 private:
  const run::Plan plan_;
  const Clock& clock_;
  NodeDesk desk_;
  Silent watcher_;
  run::Conductor conductor_;
};

class EngineThere final : public Engine {
 public:
  EngineThere(std::unique_ptr<Child> child, std::string output, std::string errors, Instant end,
              const Clock& clock)
      : child_(std::move(child)),
        output_(std::move(output)),
        errors_(std::move(errors)),
        end_(end),
        clock_(clock) {}
  ~EngineThere() override { child_->signal(SIGINT); }

  Outcome<std::optional<Instant>> step() override {
    const Instant now = clock_.now();
    if (const auto status = child_->ended()) {
      if (*status == 0) return std::nullopt;
      return failure(Errc::kIo, "the traffic: " + last_line(text_so_far(errors_)));
    }
    if (now > end_) {
      return failure(Errc::kTimedOut,
                     "the traffic did not end: " + last_line(text_so_far(errors_)));
    }
    return now + kEngineLook;
  }

  [[nodiscard]] Outcome<Figures> figures() const override {
    const std::string text = text_so_far(output_);
    if (text.size() > kReportMax) return failure(Errc::kTooBig, "the engine's report is too big");
    try {
      const auto report = nlohmann::json::parse(text);
      const auto& repeat = report.at("points").at(0).at("repeats").at(0);
      Figures figures;
      figures.throughput_mibps = repeat.at("throughput_mibps").get<double>();
      figures.rpc_rate = repeat.at("rpc_rate").get<double>();
      figures.errors = repeat.at("errors").at("total").get<std::uint64_t>();
      if (repeat.contains("latency_us")) {
        figures.p50_us = repeat["latency_us"].at("p50").get<double>();
        figures.p99_us = repeat["latency_us"].at("p99").get<double>();
      }
      return with_traffic(std::move(figures));
    } catch (const std::exception& error) {
      return failure(Errc::kMalformed, fmt::format("the engine's report: {}", error.what()));
    }
  }

  [[nodiscard]] double cpu_seconds() const override { return child_->cpu_seconds(); }

 private:
  std::unique_ptr<Child> child_;
  const std::string output_;
  const std::string errors_;
  const Instant end_;
  const Clock& clock_;
};

}  // namespace

Outcome<std::unique_ptr<Engine>> engine_here(const EngineTask& task, std::string socket,
                                             const Clock& clock) {
  run::Plan plan{.name = "lnet-pin",
                 .from_words = {task.from},
                 .to_words = {task.to},
                 .tests = {task.load.test},
                 .sizes = {task.load.size},
                 .concurrencies = {task.load.concurrency},
                 .warm_up = task.load.warm_up,
                 .duration = task.load.duration,
                 .repeats = 1};
  if (auto done = run::finish_plan(plan); !done) return std::unexpected(std::move(done.error()));
  return std::make_unique<EngineHere>(std::move(plan), std::move(socket), clock);
}

Outcome<std::unique_ptr<Engine>> engine_there(const EngineTask& task, ChildPlan engine,
                                              const Clock& clock) {
  auto child = Child::start(engine);
  if (!child) return std::unexpected(std::move(child.error()));
  (*child)->close_input();
  const Instant end = clock.now() + task.load.warm_up + task.load.duration + kEngineMargin;
  return std::make_unique<EngineThere>(std::move(*child), std::move(engine.output),
                                       std::move(engine.errors), end, clock);
}

std::string engine_script(const EngineTask& task, const std::string& program,
                          const std::string& folder) {
  const Workload& load = task.load;
  return fmt::format(
      fmt::runtime(kEngineScript), fmt::arg("folder", folder), fmt::arg("program", program),
      fmt::arg("from", task.from), fmt::arg("to", task.to),
      fmt::arg("test", run::text_of(load.test)), fmt::arg("size", run::text_of_size(load.size)),
      fmt::arg("concurrency", load.concurrency), fmt::arg("warmup", milliseconds_of(load.warm_up)),
      fmt::arg("duration", milliseconds_of(load.duration)));
}

}  // namespace plnet::pin
