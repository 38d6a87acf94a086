// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/start_turn.hpp"

#include <filesystem>
#include <optional>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "lib/runtime/host/cpu_claims.hpp"
#include "tests/unit/lib/runtime/host/temp_dir.hpp"

namespace plnet::runtime {
namespace {

TEST(StartTurn, NodesStartOneAtATime) {
  const TempDir dir;
  std::optional<StartTurn> first(std::in_place, dir.path(), Duration{});
  EXPECT_TRUE(first->is_ours());
  EXPECT_FALSE(StartTurn(dir.path(), Duration{}).is_ours());
  first.reset();
  EXPECT_TRUE(StartTurn(dir.path(), Duration{}).is_ours());
}

// The lock of another user, on the file of its name.
class OtherStart {
 public:
  OtherStart(const std::string& directory, uid_t user, uid_t owner)
      : file_(::open((directory + "/plnet-start." + std::to_string(user) + ".lock").c_str(),
                     O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    is_locked = ::fchown(file_, owner, 0) == 0 && ::flock(file_, LOCK_EX | LOCK_NB) == 0;
  }
  ~OtherStart() { ::close(file_); }
  OtherStart(const OtherStart&) = delete;
  OtherStart& operator=(const OtherStart&) = delete;

  bool is_locked = false;

 private:
  const int file_;
};

TEST(StartTurn, AStartWaitsForThatOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: a file of another user";
  const TempDir dir;
  std::optional<OtherStart> other(std::in_place, dir.path(), 4711, 4711);
  ASSERT_TRUE(other->is_locked);
  if (read_proc_locks().empty()) GTEST_SKIP() << "/proc/locks tells nothing";
  EXPECT_FALSE(StartTurn(dir.path(), Duration{}).is_ours());
  other.reset();
  EXPECT_TRUE(StartTurn(dir.path(), Duration{}).is_ours());
}

TEST(StartTurn, AFileInTheNameOfAnotherUserDelaysNobody) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: a file of another user";
  const TempDir dir;
  const OtherStart other(dir.path(), 4712, 4711);
  ASSERT_TRUE(other.is_locked);
  EXPECT_TRUE(StartTurn(dir.path(), Duration{}).is_ours());
}

TEST(StartTurn, AStartDoesNotNeedALockFile) {
  EXPECT_FALSE(StartTurn("/nonexistent-plnet", std::chrono::hours(1)).is_ours());
  const TempDir dir;
  const auto name = dir.path() + "/plnet-start." + std::to_string(::geteuid()) + ".lock";
  std::filesystem::create_symlink("/dev/null", name);
  EXPECT_FALSE(StartTurn(dir.path(), std::chrono::hours(1)).is_ours()) << "no link is followed";
}

}  // namespace
}  // namespace plnet::runtime
