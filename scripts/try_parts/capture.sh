# SPDX-License-Identifier: BSD-3-Clause
# lnetdump on the router of benchmark.sh: a chart, a summary, assertions.

say "lnetdump on the router: both legs of a ping from the client to the server, as a chart"
ctl client ping 10.89.1.1@tcp1  # so that both know each other
show lnetdump --socket "$scratch/router.sock" --chart text --assert 'count=4' --assert 'drops=0' \
  --filter 'nid 10.89.0.1@tcp and nid 10.89.1.1@tcp1 and (get or reply)' \
  lnetctl --socket "$scratch/client.sock" ping 10.89.1.1@tcp1

say "A second of LNet selftest: a summary and assertions"
show lnetdump --socket "$scratch/router.sock" --no-payload --ring 65536 --summary \
  --assert 'count>100' --assert 'drops=0' \
  ip netns exec "$(host client)" lnet-selftest run --run-dir "$scratch" --instance client --lock-dir "$scratch" \
  --from 10.89.0.1@tcp --to 10.89.1.1@tcp1 --test ping --concurrency 1 --warmup 0 --duration 1 --repeats 1 --report "$scratch/ping"
