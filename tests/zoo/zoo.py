#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs with a planted fault: does the first finding of a recording name it?

zoo.py [--quick] [--verbose] [--gate] [NAME...]: records each, prints what was said first, and the rates. --gate: exit status 1 when
fewer than 90 % are right or more than 2 % name a false cause; with --quick when any of them is not right."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
LIMIT_S = 120
RIGHT_PERCENT, FALSE_PERCENT = 90, 2
# What the machine's load does to every program: it names no cause of the program's own, unless that was planted.
OF_THE_MACHINE = {"scheduler", "involuntary", "hardware_wait", "processor"}
PLANTED_RIVALS = {"quota.py", "rival.py", "herd_epoll.c"}

# Program: what its first finding must say, all of it ("a|b": one of them), and the patterns that are true of it.
ZOO = {
    "lock_fsync.c": (["`cache_lock`", "update_cache"], {"lock_held_across_io"}),
    "lock_sleep.c": (["`table`", "insert_row"], {"lock_held_across_io"}),
    "lock_net.c": (["`session_lock`", "use_session"], {"lock_held_across_io"}),
    "convoy.c": (["`stats_lock`", "count_hit"], {"lock_convoy"}),
    "deadlock.c": (["`reserve`", "`revalue`", "`stock`", "`prices`"], {"deadlock"}),
    "rwlock_writer.c": (["config_lock", "read_config"], {"lock_held_across_io"}),
    "file_lock.c": (["state.lock", "lock_state"], {"lock_held_across_io"}),
    "pool_semaphore.c": (["slots", "acquire_slot"], {"pool_too_small"}),
    "pool_condition.c": (["checkout_connection"], {"pool_too_small"}),
    "n_plus_one.c": (["load_order"], {"n_plus_one"}),
    "n_plus_one_cpu.c": (["load_price"], {"n_plus_one"}),
    "fan_out.c": (["gather_quotes"], {"serial_fan_out"}),
    "delayed_ack.c": (["send_request"], {"delayed_ack"}),
    "poll_file.c": (["wait_until_ready"], {"polling"}),
    "fsync_each.c": (["append_record"], {"fsync_per_item"}),
    "one_fsync.c": (["save_snapshot"], set()),
    "cold_start.c": (["load_table"], {"cold_start"}),
    "retry.c": (["ask_peer"], {"retry_after_timeout"}),
    "helper.c": (["called from `rebuild_index` (helper.c:"], {"polling"}),
    "one_sleep.c": (["back_off"], set()),
    "poller_unix.c": (["poller_unix sleeps on purpose", "next_event"], set()),
    "straggler.c": (["merge_last"], {"polling"}),
    "future.c": (["fetch_exchange_rate"], set()),
    "slow_producer.c": (["render_line"], set()),
    "broadcast.c": (["queue_lock|wait_turn"], {"pool_too_small", "lock_convoy", "thundering_herd"}),
    "wake_all.c": (["`queue_lock`"], {"thundering_herd", "lock_convoy"}),
    "notify_all.cc": (["`topic_lock`"], {"thundering_herd", "lock_convoy"}),
    "gil.py": (["Interpreter lock"], {"interpreter_lock"}),
    "lock_sleep.py": (["lock"], {"lock_held_across_io"}),
    "n_plus_one.py": (["tcp 127.0.0.1"], {"n_plus_one"}),
    "poll_file.py": (["(poll_file.py:19)"], {"polling"}),
    "fsync_each.py": (["orders.journal"], {"fsync_per_item"}),
    "retry.py": (["tcp 127.0.0.1"], {"retry_after_timeout"}),
    "serial_children.py": (["for sleep,"], set()),
    "slow_child.py": (["for sleep,|for sh,"], set()),
    "nap_beside_connection.py": (["python3 sleeps on purpose"], set()),
    "semaphore.py": (["Pool too small|a lock"], {"pool_too_small", "lock_held_across_io"}),
    "collector.py": (["collects garbage|gc_collect|itself"], {"garbage_collection"}),
    "unix_service.py": (["another python3"], {"n_plus_one"}),
    "fsync_each.go": (["orders.journal|appendRecord"], {"fsync_per_item"}),
    "slow_child.go": (["for sleep,"], set()),
    "lock_file.go": (["state.lock|lockState"], {"lock_held_across_io"}),
    "fsync_each.js": (["orders.journal|appendRecord"], {"fsync_per_item"}),
    "slow_child.js": (["for sleep,"], set()),
    "LockSleep.java": (["insertRow|thread worker-"], {"lock_held_across_io", "lock_convoy"}),
    "FsyncEach.java": (["orders.journal|appendRecord"], {"fsync_per_item"}),
    "SlowChild.java": (["for sleep,|runHook"], set()),
    "file_lock.pl": (["state.lock"], {"lock_held_across_io"}),
    "fsync_each.pl": (["orders.journal"], {"fsync_per_item"}),
    "n_plus_one.pl": (["tcp 127.0.0.1"], {"n_plus_one"}),
    "serial_children.rb": (["for sleep,"], set()),
    "poll_file.rb": (["for sleep,|wait_until_ready"], {"polling"}),
    "fsync_each.rb": (["orders.journal"], {"fsync_per_item"}),
    "serial_sleeps.sh": (["for sleep,"], set()),
    "poll_file.sh": (["for sleep,"], set()),
    "pipeline.sh": (["for sleep,"], set()),
    "file_lock.sh": (["state.lock"], {"lock_held_across_io"}),
    "fifo.sh": (["for sleep,|answers"], set()),
    "slow_wait.sh": (["for sleep,"], set()),
    "sqlite_commits.py": (["orders.db", "add_order"], {"fsync_per_item"}),
    "LockChild.java": (["`ReentrantLock` in `LockChild.lookUp`", "waitFor"], {"lock_held_across_io"}),
    "LockForce.java": (["appendEntry"], {"lock_held_across_io"}),
    "n_plus_one_redis.js": (["redis", "tcp 127.0.0.1:7391"], {"n_plus_one"}),
    "n_plus_one_pg.py": (["postgres", "load_item"], {"n_plus_one"}),
    "herd_epoll.c": (["wait_connection"], {"thundering_herd"}),
    "delayed_ack.py": (["messages on their way"], {"delayed_ack"}),
    "pool.go": (["checkOut|main.query"], {"pool_too_small"}),
    "SmallPool.java": (["checkOut"], {"pool_too_small"}),
    "retry.go": (["tcp 127.0.0.1"], {"retry_after_timeout"}),
    "poller_keepalive.js": (["node sleeps on purpose"], set()),
    "poll_file.js": (["for sleep,|poll_file.js:"], {"polling"}),
    "gvl.rb": (["Interpreter lock"], {"interpreter_lock"}),
    "collector.rb": (["collects garbage"], {"garbage_collection"}),
    "Collector.java": (["collects garbage"], {"garbage_collection"}),
    "quota.py": (["by the quota of"], {"quota_throttling"}),
    "rival.py": (["for a CPU that hog uses"], set()),
    "Deadlock.java": (["Deadlock.transfer", "Deadlock.report"], {"deadlock"}),
    "pool_queue.py": (["checkout"], {"pool_too_small"}),
    "lock_file.rb": (["`Mutex` in `append_entry`"], {"lock_held_across_io", "lock_convoy"}),
    "n_plus_one.go": (["tcp 127.0.0.1:7393"], {"n_plus_one"}),
    "fsync_rows.php": (["rows.log", "store_row"], {"fsync_per_item"}),
    "flock_report.php": (["report.lock", "write_report"], {"lock_held_across_io"}),
    "shared_lock.cc": (["`table_lock", "look_up"], {"lock_held_across_io"}),
    "ask_twice.pl": (["tcp 127.0.0.1:7461", "ask_price"], {"retry_after_timeout"}),
    "sized_queue.rb": (["query"], {"pool_too_small"}),
    "ledger_sync.go": (["transfer|writeAudit|audit.log"], {"lock_held_across_io", "fsync_per_item"}),
    "pool_cond.go": (["acquire|runStatement"], {"pool_too_small"}),
    "lock_handler.go": (["slowQuote"], {"lock_held_across_io"}),
    "slow_handler.go": (["slowQuote", "another slow_handler"], {"n_plus_one"}),
    "pace_pool.go": (["coolDown"], {"polling"}),
    "call_back.go": (["`main.dispatch`", "for exe,", "`main.appraise`"], {"n_plus_one"}),
    "slow_consumer.go": (["renderInvoice"], {"polling"}),
    "token_pipe.c": (["take_token"], {"pool_too_small"}),
    "fan_out_asyncio.py": (["in `serve`", "one after the other"], {"serial_fan_out"}),
    "n_plus_one_http.js": (["tcp 127.0.0.1:7397"], {"n_plus_one"}),
    "ParkPoll.java": (["awaitJob"], {"polling"}),
    "lock_lookup.rs": (["look_up"], {"lock_held_across_io"}),
    "lock_tokio.rs": (["append_entry", "a lock"], {"lock_held_across_io"}),
    "starve_tokio.rs": (["in `starve_tokio::ask`", "which is busy with", "resize_image"], set()),
    "n_plus_one_tokio.rs": (["in `n_plus_one_tokio::buy`", "stock", "look_up"], {"n_plus_one"}),
    "retry_asyncio.py": (["tcp 127.0.0.1:7471"], {"retry_after_timeout"}),
    "bounded_queue.py": (["store_item"], {"polling"}),
    "own_child.pl": (["reap_child", "another perl", "build_index"], set()),
    "worker_child.py": (["`transcode` (worker_child.py:9)", "for sleep,"], set()),
    "priority.c": (["`bus_lock` in `use_bus`", "waits for a CPU that other threads"], {"priority_inversion"}),
    "pool_requests.py": (["in `checkout`", "for another of its threads"], {"pool_too_small"}),
    "asks_once.py": (["in `look_up`"], set()),
    "connects_each.py": (["in `look_up`", "for each request on tcp port 7406"], {"connection_each"}),
    "bill_ledger.py": (["in `bill`", "for another of its threads", "in `audit_all`"], set()),
    "spawn_fifo.c": (["in `start_tool`", "feeder", "late_feed"], set()),
    "process_lock.py": (["in `append_entry`", "`fsync`"], {"lock_held_across_io", "pool_too_small", "fsync_per_item"}),
}
INTERPRETERS = {".py": "/usr/bin/python3", ".sh": "/bin/bash", ".js": "node", ".pl": "perl", ".rb": "ruby", ".php": "php"}
OPTIONS = {"bill_ledger.py": ["--threads"], "pool_requests.py": ["--threads"], "asks_once.py": ["--threads"], "connects_each.py": ["--threads"],
           "call_back.go": ["-a", "main=comm=call_back,busy"], "slow_consumer.go": ["-a", "main=comm=slow_consumer,busy"]}
QUICK = ("lock_sleep.c", "n_plus_one.c", "poll_file.sh")


def program(name):
    return os.path.join(os.environ["WAKEPATH_BIN"], name)


def crate_of(stem, source, folder):
    """A program that uses Debian's tokio."""
    os.makedirs(os.path.join(folder, "crate", "src"))
    shutil.copy(source, os.path.join(folder, "crate", "src", "main.rs"))
    with open(os.path.join(folder, "crate", "Cargo.toml"), "w", encoding="utf-8") as file:
        file.write(f'[package]\nname = "{stem}"\nversion = "0.1.0"\nedition = "2021"\n[profile.release]\ndebug = 1\n[dependencies]\n'
                   'tokio = {version = "1", features = ["io-util", "macros", "net", "rt-multi-thread", "sync", "time"]}\n')
    subprocess.run(["cargo", "build", "--quiet", "--offline", "--release", "--config", 'source.crates-io.replace-with="debian"',
                    "--config", 'source.debian.directory="/usr/share/cargo/registry"'], check=True, cwd=os.path.join(folder, "crate"))
    return os.path.join(folder, "crate", "target", "release", stem)


def command_of(name, folder):
    source = os.path.join(HERE, name)
    stem, kind = os.path.splitext(name)
    if kind == ".c":
        binary = os.path.join(folder, stem)
        subprocess.run(["cc", "-g", "-O1", "-pthread", "-o", binary, source], check=True)
        return [binary]
    if kind == ".cc":
        binary = os.path.join(folder, stem)
        subprocess.run(["c++", "-g", "-O1", "-std=c++17", "-pthread", "-o", binary, source], check=True)
        return [binary]
    if kind == ".go":
        subprocess.run(["go", "build", "-o", os.path.join(folder, stem), source], check=True, env=dict(os.environ, GO111MODULE="off"))
        return [os.path.join(folder, stem)]
    if stem.endswith("_tokio"):
        return [crate_of(stem, source, folder)]
    if kind == ".rs":
        subprocess.run(["rustc", "-g", "-O", "-o", os.path.join(folder, stem), source], check=True, stderr=subprocess.DEVNULL)
        return [os.path.join(folder, stem)]
    if kind == ".java":
        subprocess.run(["javac", "-g", "-d", folder, source], check=True)
        return ["java", "-XX:+PreserveFramePointer", "-cp", folder, stem]
    return [INTERPRETERS[kind], source]


def findings_of(name):
    """What is said of a recording of the program, the largest first."""
    folder = tempfile.mkdtemp(prefix="wakepath-zoo-", dir="/var/tmp")
    try:
        out = os.path.join(folder, "out")
        run = subprocess.run([program("wakepath"), "record", "--quiet", "--out", out, *OPTIONS.get(name, []), "--", *command_of(name, folder)],
                             cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if not os.path.exists(os.path.join(out, "summary.json")):
            sys.exit(f"zoo: {name} was not recorded: {run.stderr}")
        with open(os.path.join(out, "summary.json"), encoding="utf-8") as file:
            return json.load(file)["explanations"]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def says(sentence, words):
    return all(any(one in sentence for one in word.split("|")) for word in words)


def is_of_the_machine(name, row):
    """A quota is nobody's load: told of a program that has none, it is a false cause."""
    return row["kind"] in OF_THE_MACHINE and not row.get("pattern", {}).get("key") and name not in PLANTED_RIVALS


def judge(name, rows):
    """("right", "vague" or "false", the finding): of the first that is the program's own."""
    words, patterns = ZOO[name]
    own = [row for row in rows if not is_of_the_machine(name, row)]
    if not own:
        return "vague", {"sentence": "nothing"}
    first = own[0]
    pattern = first.get("pattern", {}).get("key")
    if pattern and pattern not in patterns and first["pattern"]["sure"] != "possible":
        return "false", first
    if says(first["sentence"], words):
        return "right", first
    return "false" if first.get("function") or first["kind"] == "lock" else "vague", first


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    names = args.names or (QUICK if args.quick else ZOO)
    counts = {"right": 0, "vague": 0, "false": 0}
    named = strict = 0
    for name in names:
        _, patterns = ZOO[name]
        rows = findings_of(name)
        verdict, first = judge(name, rows)
        counts[verdict] += 1
        named += first.get("pattern", {}).get("key") in patterns
        strict += verdict == "right" and rows[0] is first
        print(f"{verdict:5} {name:20} {first['sentence']}", flush=True)
        if args.verbose or verdict != "right":
            for row in rows[:5]:
                print(f"      {row['kind']:16} {row['sentence']}")
    percent = {key: 100 * value / len(names) for key, value in counts.items()}
    print(f"zoo: {len(names)} programs, first finding right {percent['right']:.0f} % (of all findings, the machine's load too: "
          f"{100 * strict / len(names):.0f} %), false cause {percent['false']:.0f} %, "
          f"pattern named {named} of {sum(bool(ZOO[name][1]) for name in names)}")
    needed = 100 if args.quick else RIGHT_PERCENT
    return args.gate and (percent["right"] < needed or percent["false"] > FALSE_PERCENT)


if __name__ == "__main__":
    sys.exit(main())
