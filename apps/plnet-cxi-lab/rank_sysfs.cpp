// SPDX-License-Identifier: BSD-3-Clause
#include "apps/plnet-cxi-lab/rank_sysfs.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "apps/plnet-cxi-lab/driver_files.hpp"
#include "apps/plnet-cxi-lab/system.hpp"

namespace plnet::cxi_lab {
namespace {

constexpr const char* kClasses = "/sys/class";
constexpr const char* kModules = "/sys/module";
constexpr mode_t kAll = 0755;

using Names = std::vector<std::string>;

Outcome<void> make_link(const std::string& to, const std::string& path) {
  if (::symlink(to.c_str(), path.c_str()) != 0) return system_failure(path);
  return {};
}

// An empty folder over `folder`, in which its subfolders are as before, without `replaced`: a
// folder cannot be added to the kernel's own. An entry that cannot be mounted is left out.
Outcome<void> reopen(const std::string& folder, const Names& replaced) {
  const int before = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (before < 0) return system_failure(folder);
  const std::string inside = "/proc/self/fd/" + std::to_string(before) + "/";
  Names kept;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(inside, error)) {
    const std::string name = entry.path().filename();
    if (entry.is_directory(error) && std::ranges::find(replaced, name) == replaced.end())
      kept.push_back(name);
  }
  auto done = mount_empty(folder);
  for (const std::string& name : kept) {
    if (!done) break;
    const std::string at = folder + "/" + name;
    done = make_folder(at, kAll);
    if (done &&
        ::mount((inside + name).c_str(), at.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
      (void)::rmdir(at.c_str());
  }
  (void)::close(before);
  return done;
}

Outcome<void> make_files(const std::string& folder,
                         const std::vector<std::pair<std::string, std::string>>& files) {
  for (const auto& [name, text] : files) {
    if (auto done = write_file(folder + "/" + name, text); !done) return done;
  }
  return {};
}

Outcome<void> make_folders(const std::string& in, const Names& names) {
  for (const std::string& name : names) {
    if (auto done = make_folder(in + "/" + name, kAll); !done) return done;
  }
  return {};
}

Outcome<void> make_driver_folder(const Plan& plan, unsigned rank) {
  const std::string folder = plan.driver_folder(rank);
  if (auto done = make_folder(folder, kAll); !done) return done;
  for (unsigned nic = 0; nic < plan.nics_per_rank; ++nic) {
    const std::string device = folder + "/" + device_folder(nic);
    if (auto done = make_folders(folder, {class_folder(nic), device_folder(nic)}); !done)
      return done;
    if (auto done = make_folders(device, driver_folders()); !done) return done;
    if (auto done = make_files(device, driver_files(plan, rank, nic)); !done) return done;
    const std::string name = device.substr(device.rfind('/') + 1);
    if (auto done = make_link(name, folder + "/" + class_folder(nic) + "/device"); !done)
      return done;
  }
  return {};
}

Outcome<void> mount_again(const std::string& from, const std::string& to) {
  if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) != 0) return system_failure(to);
  return {};
}

// As in the kernel's sysfs, root writes only to what may be written.
Outcome<void> show_driver_folder(const Plan& plan, unsigned rank) {
  const std::string to = std::string(kClasses) + "/cxi";
  const std::string from = plan.driver_folder(rank);
  if (auto done = make_folder(to, kAll); !done) return done;
  if (auto done = mount_again(from, to); !done) return done;
  constexpr unsigned long kReadOnly = MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV;
  if (::mount(nullptr, to.c_str(), nullptr, kReadOnly, nullptr) != 0) return system_failure(to);
  for (unsigned nic = 0; nic < plan.nics_per_rank; ++nic) {
    const std::string file = "/" + device_folder(nic) + "/" + std::string(kAtomicRemap);
    if (auto done = mount_again(from + file, to + file); !done) return done;
  }
  return {};
}

// The class of the device files, which libcxi looks at.
Outcome<void> make_user_class(const Plan& plan) {
  const std::string folder = std::string(kClasses) + "/cxi_user";
  if (auto done = make_folder(folder, kAll); !done) return done;
  for (unsigned nic = 0; nic < plan.nics_per_rank; ++nic) {
    const std::string name = "/" + class_folder(nic);
    if (auto done = make_link("../cxi" + name, folder + name); !done) return done;
  }
  return {};
}

Outcome<void> make_net_class(const Plan& plan, unsigned rank) {
  const std::string folder = std::string(kClasses) + "/net";
  if (auto done = make_folder(folder, kAll); !done) return done;
  for (unsigned nic = 0; nic < plan.nics_per_rank; ++nic) {
    const std::string interface = folder + "/hsn" + std::to_string(nic);
    if (auto done = make_folder(interface, kAll); !done) return done;
    if (auto done = make_link("../../cxi/" + device_folder(nic), interface + "/device"); !done)
      return done;
  }
  return make_files(folder, plan.sysfs_files(rank));
}

Outcome<void> make_module() {
  if (auto done = reopen(kModules, {kModule}); !done) return done;
  const std::string folder = std::string(kModules) + "/" + kModule;
  if (auto done = make_folder(folder, kAll); !done) return done;
  if (auto done = make_folder(folder + "/parameters", kAll); !done) return done;
  return write_file(folder + "/parameters/" + kModuleParameter.first, kModuleParameter.second);
}

}  // namespace

Outcome<void> make_sysfs(const Plan& plan, unsigned rank) {
  if (auto done = make_driver_folder(plan, rank); !done) return done;
  if (auto done = reopen(kClasses, {"net", "cxi", "cxi_user"}); !done) return done;
  if (auto done = show_driver_folder(plan, rank); !done) return done;
  if (auto done = make_user_class(plan); !done) return done;
  if (auto done = make_net_class(plan, rank); !done) return done;
  return make_module();
}

}  // namespace plnet::cxi_lab
