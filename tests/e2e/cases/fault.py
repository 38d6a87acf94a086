# SPDX-License-Identifier: BSD-3-Clause
"""Fault rules between real processes: the counters match the affected messages exactly."""
from site_under_test import eventually
from tcp_nodes import counted, nid, works
from traffic_nodes import IMPATIENT, count, is_clean, last_words, start, target_of
from two_hosts import two_hosts

OPERATIONS = 24


def only_rule(node, kind):
    rules = node.json("fault", kind, "show")["fault"]
    assert len(rules) == 1, rules
    return rules[0]


def case_one_of_two_puts_is_dropped_and_each_is_accounted_for(site):
    with two_hosts(site) as hosts:
        b = start(hosts, "b", options=IMPATIENT)
        works(b, "fault", "drop", "add", "-s", nid("a"), "-d", "*@tcp", "-r", "2", "-m", "PUT", "-p", "60")
        a = start(hosts, "a", "--count", str(OPERATIONS), "--gets", "0", "--bytes-max", "4096", *target_of("b"), shards=1, options=IMPATIENT)
        eventually("every operation has ended", lambda: count(a, "answered") + count(a, "failed") == OPERATIONS, 120)
        rule = only_rule(b, "drop")
        assert rule["fs_count"] == OPERATIONS, rule
        assert rule["ds_dropped"] == rule["fs_put"] == OPERATIONS // 2, rule
        assert rule["fs_ack"] == rule["fs_get"] == rule["fs_reply"] == 0, rule
        assert counted(b, "lnet_cause", "dropped_fault_rule") == OPERATIONS // 2
        assert count(a, "failed") == OPERATIONS // 2 and count(b, "delivered") == OPERATIONS // 2
        is_clean(b)
        works(b, "fault", "drop", "reset")
        assert only_rule(b, "drop")["fs_count"] == 0
        assert works(b, "fault", "drop", "del", "--all") == "fault:\n    removed: 1\n"
        assert works(b, "fault", "drop", "show") == ""
        last_words(a)
        last_words(b)


def case_a_rule_of_a_file_is_there_from_the_start_and_goes_with_import(site):
    text = "fault: [{rule_type: delay, source: '*@tcp', dest: '*@tcp', rate: 1, latency: 2, message: GET}]\n"
    with two_hosts(site) as hosts:
        b = start(hosts, "b")
        a = start(hosts, "a")
        rules = site.write("rules.yaml", text)
        works(b, "import", rules)
        assert a.lnetctl("ping", "--timeout", "1", nid("b")).returncode != 0, "its GET waits for two seconds"
        assert only_rule(b, "delay")["ls_delayed"] == 1
        assert b.json("export", "--backup")["fault"] == b.json("export")["fault"]
        works(b, "import", "--del", rules)
        assert works(b, "fault", "delay", "show") == ""
        eventually("b answers", lambda: a.lnetctl("ping", "--timeout", "1", nid("b")).returncode == 0)
