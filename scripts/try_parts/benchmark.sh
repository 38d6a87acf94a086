# SPDX-License-Identifier: BSD-3-Clause
# LNet selftest through the router, on the hosts of router.sh: a report with an HTML page.

say "A benchmark: lnet-selftest on client and server, and the router between them again"
for pid in "${nodes[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
for pid in "${nodes[@]}"; do wait "$pid" 2>/dev/null || true; done
nodes=()
begin router router lnet-router --config router.yaml
begin server server lnet-selftest node --config server.yaml
begin client client lnet-selftest node --config client.yaml

report=$root/build/try-report
rm -rf "$report"
show ip netns exec "$(host client)" lnet-selftest run --run-dir "$scratch" --instance client --lock-dir "$scratch" \
  --from 10.89.0.1@tcp --to 10.89.1.1@tcp1 --test read,write,ping --size 4k,1M --concurrency 1,8 \
  --warmup 0 --duration 1 --repeats 2 --report "$report"
if [ -s "$report/report.html" ]; then
  say "The report: $report/report.html"
else
  say "There is no report. The output of the nodes:"
  tail -n 3 router.log server.log client.log
fi
