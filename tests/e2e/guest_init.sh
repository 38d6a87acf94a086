#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
# The first process of a guest: loads the modules, mounts the host's root read-only below a file system in memory, and
# starts the agent there. The kernel's command line names the agent: plnet.agent=PATH.
bb=/bin/busybox
$bb mkdir -p /proc /sys /dev /host /memory /new
$bb mount -t proc proc /proc
$bb mount -t sysfs sysfs /sys
$bb mount -t devtmpfs devtmpfs /dev
while read -r module; do
  $bb insmod "/modules/$module" || echo "guest: insmod $module failed"
done < /modules/order
agent=$($bb sed -n 's/.*plnet\.agent=\([^ ]*\).*/\1/p' /proc/cmdline)
$bb mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose host /host &&
  $bb mount -t tmpfs tmpfs /memory && $bb mkdir /memory/upper /memory/work &&
  $bb mount -t overlay -o lowerdir=/host,upperdir=/memory/upper,workdir=/memory/work overlay /new ||
  { echo "guest: no root file system"; $bb poweroff -f; }
for place in proc sys dev; do $bb mount --move /$place /new/$place; done
$bb mount -t tmpfs tmpfs /new/run
$bb mkdir -p /new/dev/shm /new/dev/hugepages && $bb mount -t tmpfs tmpfs /new/dev/shm
$bb chroot /new /bin/ip link set lo up
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
$bb chroot /new /usr/bin/python3 -I "$agent"
echo "guest: the agent ended with $?"
$bb poweroff -f
