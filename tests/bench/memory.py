#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""memory.py BIN_DIR CAPTURE [SELECTOR]: replays a capture as fast as it is taken and prints the aggregator's memory as JSON: the
highest resident set in each tenth of the replay, and the two halves' ratio (1 is flat)."""
import json, os, subprocess, sys, tempfile, threading, time


def main():
    folder_bin, capture = sys.argv[1:3]
    selector = sys.argv[3] if len(sys.argv) > 3 else "comm=bench_pace"
    with tempfile.TemporaryDirectory() as folder:
        ready, word = os.pipe()
        aggregator = subprocess.Popen([f"{folder_bin}/wakepath-aggregator", "--bind", f"ipc://{folder}/s", "--store", f"{folder}/store",
                                       "--release", "bench", "--aggregate", f"main={selector}", "--exit-after-sessions", "1",
                                       "--log-level", "error", "--ready-fd", str(word)], pass_fds=[word])
        os.close(word)
        os.read(ready, 16)
        sizes, over = [], threading.Event()

        def look():
            while not over.wait(0.1):
                with open(f"/proc/{aggregator.pid}/statm", encoding="ascii") as file:
                    sizes.append(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6)
        thread = threading.Thread(target=look)
        thread.start()
        start = time.monotonic()
        text = subprocess.run([f"{folder_bin}/wakepath-collector", "--source", f"capture:{capture}", "--connect", f"ipc://{folder}/s",
                               "--stats", "--log-level", "error"], capture_output=True, text=True, check=True).stdout
        over.set()
        thread.join()
        aggregator.wait()
        tenths = [round(max(sizes[len(sizes) * i // 10:len(sizes) * (i + 1) // 10] or [0]), 1) for i in range(10)]
        print(json.dumps({"events": json.loads(text)["events"], "seconds": round(time.monotonic() - start, 1), "rss_mb": tenths,
                          "second_half_to_first": round(max(tenths[5:]) / (max(tenths[1:5]) or 1), 3)}))


if __name__ == "__main__":
    main()
