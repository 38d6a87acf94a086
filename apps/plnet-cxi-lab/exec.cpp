// SPDX-License-Identifier: BSD-3-Clause
#include "apps/plnet-cxi-lab/exec.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apps/plnet-cxi-lab/command_line.hpp"
#include "apps/plnet-cxi-lab/plan.hpp"
#include "apps/plnet-cxi-lab/system.hpp"

namespace plnet::cxi_lab {
namespace {

std::string variable(const char* name) {
  const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return text == nullptr ? "" : text;
}

Outcome<Plan> own_lab() {
  Plan plan;
  plan.folder = variable(kFolderVariable);
  plan.nodes = static_cast<unsigned>(std::strtoul(variable(kNodesVariable).c_str(), nullptr, 10));
  if (plan.folder.empty() || plan.nodes == 0 || plan.nodes > kNodesMax)
    return failure(Errc::kInvalid, fmt::format("exec is for commands of a lab: {} and {} are not "
                                               "in the environment",
                                               kFolderVariable, kNodesVariable));
  return plan;
}

// The file system in memory that only processes of the lab see.
struct Place {
  dev_t device = 0;
  ino_t number = 0;
  bool operator==(const Place&) const = default;
};
std::optional<Place> place_of(const std::string& folder) {
  struct stat seen{};
  if (::stat(folder.c_str(), &seen) != 0) return std::nullopt;
  return Place{.device = seen.st_dev, .number = seen.st_ino};
}

Outcome<void> move_to(const Plan& plan, unsigned rank) {
  const auto place = place_of(plan.folder);
  if (!place) return system_failure("the folder of the lab, " + plan.folder);
  const std::string file = plan.process_file(rank);
  if (::access(file.c_str(), R_OK) != 0 && errno == EACCES)
    return system_failure("another rank (only root of the lab enters it)");
  pid_t process = 0;
  std::ifstream(file) >> process;
  // The header of glibc 2.36 declares pidfd_open() as a function of C++.
  const int target = process > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, process, 0)) : -1;
  const bool has_moved =
      target >= 0 && ::setns(target, CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS) == 0;
  const int number = errno;
  if (target >= 0) (void)::close(target);
  errno = number;
  if (!has_moved && number == EPERM)
    return system_failure("namespaces of another rank (CAP_SYS_ADMIN in the lab)");
  // A process of another lab, or none of a lab, may have the number of one that has ended.
  if (!has_moved || place_of(plan.folder) != place)
    return failure(Errc::kNotFound, fmt::format("rank {} has ended", rank));
  return {};
}

Outcome<void> enter(const Plan& plan, unsigned rank) {
  std::error_code error;
  std::string folder = std::filesystem::current_path(error).string();
  if (error) folder = "/";
  if (auto done = move_to(plan, rank); !done) return done;
  if (::chdir(folder.c_str()) != 0)
    return system_failure(fmt::format("{} in rank {}", folder, rank));
  for (const auto& [name, value] : plan.environment(rank, variable("LD_LIBRARY_PATH"))) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    if (::setenv(name.c_str(), value.c_str(), 1) != 0) return system_failure(name);
  }
  return {};
}

}  // namespace

Outcome<void> enter_rank(const std::string& host) {
  const auto plan = own_lab();
  if (!plan) return std::unexpected(plan.error());
  if (const auto rank = plan->rank_of(host)) return enter(*plan, *rank);
  const unsigned last = plan->nodes - 1;
  return failure(
      Errc::kNotFound,
      fmt::format("{} is no rank of this lab; ranks are 0 to {}, {} to {}, {} to {}", host, last,
                  Plan::host_name(0), Plan::host_name(last), Plan::ip(0, 0), Plan::ip(last, 0)));
}

}  // namespace plnet::cxi_lab
