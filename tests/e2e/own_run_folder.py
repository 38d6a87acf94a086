# SPDX-License-Identifier: BSD-3-Clause
"""Commands of a shell in a mount namespace of its own: /run/plnet has no sockets and CPU claims of other nodes of this machine."""
# Starts still wait for their turn, since hugepages belong to all nodes.
_TURN = "/run/plnet/plnet-start.0.lock"
OWN_RUN_FOLDER = (f"mkdir -p /run/plnet && (umask 077; : >> {_TURN}) && exec 9<>{_TURN} && mount -t tmpfs -o mode=755 none /run/plnet && "
                  f"touch {_TURN} && mount --no-canonicalize --bind /proc/self/fd/9 {_TURN} && exec 9<&-")
