# SPDX-License-Identifier: Apache-2.0
"""The truth programs, each with its arguments, and the ways in which each of them runs."""
import re

# name: (program and arguments after the file of the truth, #N for how often, in the quick set)
CASES = {
    "rpc1": ("truth_rpc {folder} 1 1 #200 1 0", False),
    "rpc1_unix": ("truth_rpc {folder} 1 1 #200 1 0 5000 unix", False),
    "rpc3": ("truth_rpc {folder} 3 1 #150 1 0", True),
    "rpc3_unix": ("truth_rpc {folder} 3 1 #150 1 0 5000 unix", False),
    "rpc5": ("truth_rpc {folder} 5 1 #100 1 0", False),
    "rpc5_slow3": ("truth_rpc {folder} 5 1 #100 1 3", False),
    "rpc_two": ("truth_rpc {folder} 1 2 #100 1 0", False),
    "rpc_two_unix": ("truth_rpc {folder} 1 2 #100 1 0 5000 unix", False),
    "rpc_concurrent": ("truth_rpc {folder} 1 32 #40 4 0", True),
    "rpc_spare": ("truth_rpc {folder} 1 6 #200 4 0", False),
    "rpc_two_servers": ("truth_rpc {folder} 2 8 #40 4 0", False),
    "pipe": ("truth_pair pipe #1000", True),
    "pipe_two": ("truth_pair pipe #500 others", False),
    "unix": ("truth_pair unix #1000", False),
    "unix_two": ("truth_pair unix #500 others", False),
    "tcp": ("truth_pair tcp #1000", False),
    "tcp_two": ("truth_pair tcp #500 others", False),
    "udp": ("truth_pair udp #1000", True),
    "udp_two": ("truth_pair udp #500 others", False),
    "eventfd": ("truth_pair eventfd #1000", False),
    "epoll": ("truth_pair epoll #1000", False),
    "futex": ("truth_pair futex #1000", False),
    "signal": ("truth_pair signal #1000", False),
    "half_close": ("truth_ends half #20", False),
    "half_close_unix": ("truth_ends half #20 unix", False),
    "reset": ("truth_ends reset #100", True),
    "room": ("truth_ends room #5", False),
    "room_unix": ("truth_ends room #5 unix", False),
    "pool": ("truth_threads pool #500", True),
    "convoy": ("truth_threads convoy #60", False),
    "producer": ("truth_threads producer #400", False),
    "queue_unix": ("truth_queue unix #200", True),
    "queue_pipe": ("truth_queue pipe #200", False),
    "queue_eventfd": ("truth_queue eventfd #200", False),
    "queue_futex": ("truth_queue futex #200", False),
    "tree": ("truth_process tree #20", True),
    "vfork": ("truth_process vfork #15", False),
    "timer": ("truth_process timer #50", True),
    "poll_loop": ("truth_process poll #100 pipe", False),
    "poll_loop_unix": ("truth_process poll #100 unix", False),
    "poll_loop_tcp": ("truth_process poll #100 tcp", False),
    "fsync": ("truth_process fsync #300 {folder} {disk_cpu}", True),
    "preempted": ("truth_process preempted #200", True),
}


class Way:
    """How a program runs: real-time or not, beside how many that compute, how much of its turns, within which bound (percent)."""

    def __init__(self, name, title, spinners, share, bound):
        self.name, self.title, self.spinners, self.share, self.bound = name, title, spinners, share, bound
        self.is_real_time = name == "rt"
        self.environment = {} if self.is_real_time else {"TRUTH_FREE": "1", "TRUTH_SPINNERS": str(spinners)}

    def command(self, case):
        return re.sub(r"#(\d+)", lambda turns: str(max(3, int(int(turns[1]) * self.share))), CASES[case][0])


WAYS = {way.name: way for way in (Way("rt", "real-time", 0, 1, 0.5), Way("ordinary", "ordinary", 0, 1, 1.0),
                                  Way("load4", "ordinary, load 4", 4, 0.2, 2.0), Way("load16", "ordinary, load 16", 16, 0.1, 2.0))}
