// SPDX-License-Identifier: BSD-3-Clause
// The files of lnet-pin: a sweep with the plan that is made from it, and a journal. The first byte
// chooses. An invalid file is an error that names the file; a plan stays within its limits.
#include <cstddef>
#include <cstdint>
#include <string>

#include "lib/base/check.hpp"
#include "tests/unit/apps/lnet-pin/sweep_maker.hpp"

namespace plnet::pin::pin_files_fuzz {
namespace {

const char* const kName = "file.yaml";

template <class Value>
bool is_good(const Outcome<Value>& outcome) {
  if (!outcome) PLNET_CHECK(!outcome.error().what.empty(), "an error has a text");
  return outcome.has_value();
}

void check_sweep(const std::string& text, const Machine& machine) {
  auto sweep = read_sweep(text, kName);
  if (!is_good(sweep)) return;
  const auto plan = make_plan(std::move(*sweep), machine);
  if (!is_good(plan)) return;
  PLNET_CHECK(!plan->placements.empty() && plan->placements.size() <= kPlacementsMax,
              "a plan has placements, within the limit");
  PLNET_CHECK(!text_of(*plan, machine, true).empty(), "a plan can be shown");
  PLNET_CHECK(json_of(*plan).is_object(), "and written");
}

void check_journal(const std::string& text) {
  const auto results = parse_journal(text, kName);
  if (!is_good(results)) return;
  for (const Entry& entry : results->ledger.entries())
    PLNET_CHECK(entry.placement < results->plan.placements.size(), "an entry belongs to its plan");
}

}  // namespace
}  // namespace plnet::pin::pin_files_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plnet::pin;
  using namespace plnet::pin::pin_files_fuzz;
  static const Results kSweep = results_of("name: sweep\nfactors:\n  idle: [busy, sleep]\n");
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 3) {
    case 0: check_sweep(text, kSweep.machine); break;
    case 1: check_journal(head_of_journal(kSweep) + text); break;
    default: check_journal(text);
  }
  return 0;
}
