// SPDX-License-Identifier: BSD-3-Clause
// Executes a plan: for each point a session, its groups and its test; for each repeat run, warm up,
// sample every second, stop, check for errors. A state machine: time is handed in, and each step
// sends one request to the console. In every case the last step ends the session.
//
// Each point has a session of its own because nodes keep the memory of a test until its session
// ends: a sweep would exhaust it, and later points would be measured beside the remains of earlier
// ones.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "apps/lnet-selftest/lst/console_json.hpp"
#include "apps/lnet-selftest/run/figures.hpp"
#include "apps/lnet-selftest/run/plan.hpp"
#include "apps/lnet-selftest/run/rate_search.hpp"
#include "lib/base/clock.hpp"

namespace plnet::run {

// Access to the console and to this machine.
class Desk {
 public:
  using Args = nlohmann::json;
  using Asked = std::expected<lst::Json, lst::Refusal>;

  virtual ~Desk() = default;
  // `lst new_session`, to a console that may have to be started.
  virtual Asked begin_session(const Args& args) = 0;
  virtual Asked ask(std::string_view verb, const Args& args) = 0;
  virtual CpuTimes cpu_times() = 0;
  // Makes all clients together begin the requests of their next tests at the point's rate.
  virtual Asked set_pace(const Point& point) = 0;
  // Called around each measurement: latencies of the clients that report them.
  virtual void begin_latency(const Point& point) = 0;
  virtual Latencies end_latency() = 0;
  // Called around each measurement: the pollers of nodes that report them.
  virtual PollerTimes poller_times() { return {}; }
  // Takes a while; no request of the test is under way. Nothing: not available.
  virtual std::optional<Floor> measure_floor(const Point& point) = 0;
};

// Receives the progress.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // `number` of `total`, from 1, over all repeats of all points.
  virtual void on_begin(const Point& point, unsigned repeat, std::size_t number,
                        std::size_t total) = 0;
  // Figures of the last second.
  virtual void on_sample(double throughput_mibps, double rpc_rate, bool warming_up) = 0;
  virtual void on_end(const Measurement& measurement) = 0;
};

struct ConductorSetup {
  std::uint32_t key = 1;  // of the sessions
  std::uint32_t features = selftest::kFeaturesKnown;
  // Between two readings of the nodes' counters: each costs CPU time of this program. Shorter than
  // the timeout of a session.
  Duration sample_period = std::chrono::seconds(1);
};

class Conductor {
 public:
  // All outlive the conductor. The plan is finished.
  Conductor(const Plan& plan, ConductorSetup setup, Desk& desk, Watcher& watcher);

  // Does one thing. Returns the time of the next step, at least `now`.
  [[nodiscard]] Instant step(Instant now);
  [[nodiscard]] bool over() const { return state_ == State::kOver; }
  // Ends the session in the next step.
  void interrupt();

  [[nodiscard]] const std::vector<Measurement>& measurements() const { return measurements_; }
  // For a plan with a search: one result for each completed combination.
  [[nodiscard]] const std::vector<HighestRate>& highest_rates() const { return highest_rates_; }
  // The whole plan has been measured.
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] bool interrupted() const { return interrupted_; }
  // The node and its failure; "" without a failure.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  // Nodes that did not confirm the end of the session.
  [[nodiscard]] const std::string& left_behind() const { return left_behind_; }

 private:
  enum class State : std::uint8_t {
    kSession,
    kClients,
    kServers,
    kTest,
    kPace,
    kBefore,
    kRun,
    kSample,
    kStop,
    kDrain,
    kAfter,
    kClose,
    kOver,
  };

  void open_session();
  void make_group(const char* name, const std::vector<std::string>& nodes, State next);
  void add_test();
  void set_pace();
  void look_before(Instant now);
  void run();
  [[nodiscard]] Instant sample(Instant now);
  void stop();
  [[nodiscard]] Instant drain(Instant now);
  void look_after();
  [[nodiscard]] Instant close(Instant now);

  void next_repeat();
  // Appends the next point of a search.
  void search_on();
  void keep_measurement(bool cut_short);
  // Reads the counters of both groups; false: a failure, which has been recorded.
  [[nodiscard]] bool take_stat(Sample& sample);
  // Runs a transaction; nothing: a failure, which has been recorded.
  [[nodiscard]] std::optional<selftest::TransactionResult> transact(std::string_view verb,
                                                                    Desk::Args args,
                                                                    std::string_view what);
  void fail(std::string what);

  const Plan& plan_;
  const ConductorSetup setup_;
  Desk& desk_;
  Watcher& watcher_;
  std::vector<Point> points_;  // grows during a search
  RateSearch search_;
  std::vector<HighestRate> highest_rates_;
  State state_ = State::kSession;
  std::size_t point_ = 0;
  unsigned repeat_ = 0;
  bool session_open_ = false;
  bool just_run_ = false;    // the end of warming up is not yet known
  bool just_begun_ = false;  // the end of the measurement is not yet known
  Instant measure_at_;       // the end of warming up
  Instant end_at_;
  Instant sample_at_;
  unsigned attempts_ = 0;  // of draining, or of closing
  std::optional<Floor> floor_;
  Sample before_;
  Sample last_;
  std::optional<Interval> interval_;  // during a measurement
  std::optional<Latencies> latencies_;
  PollerTimes pollers_before_;
  std::optional<PollerTimes> pollers_after_;
  std::vector<Measurement> measurements_;
  bool complete_ = false;
  bool interrupted_ = false;
  std::string failure_;
  std::string left_behind_;
};

// "12345-10.0.0.2@tcp: Connection timed out; …" for failed nodes; at most a few of them.
[[nodiscard]] std::string failures_of(const selftest::TransactionResult& result);

}  // namespace plnet::run
