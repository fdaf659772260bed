#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads that a language's runtime stops: where, and for what."""
import os
import shutil
import subprocess

from recording import RecordTest, main

JAVA = """import java.util.*;
public class Shop {
    static volatile boolean isOver;
    static volatile long sum;
    static final List<int[]> kept = new ArrayList<>();
    static void price() {
        long sum = 0;
        for (long i = 0; !isOver; i++)
            sum += i ^ sum << 1;
        Shop.sum = sum;
    }
    static void deep(int depth, Object lock) throws Exception {
        if (depth > 0)
            deep(depth - 1, lock);
        else
            synchronized (lock) { lock.wait(); }
    }
    static void start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }
    static void collect() {
        for (int i = 0; i < 1_500_000; i++)
            kept.add(new int[] {i});
        for (int i = 0; i < 12; i++)
            System.gc();
    }
    static void dump() {
        Object lock = new Object();
        for (int i = 0; i < 80; i++)
            start("deep-" + i, () -> { try { deep(400, lock); } catch (Exception e) { throw new RuntimeException(e); } });
        for (int i = 0; i < 60; i++)
            Thread.getAllStackTraces();
    }
    public static void main(String[] arguments) throws Exception {
        Thread.sleep(700); // for whoever reads where this machine keeps its code
        start("pricing", Shop::price);
        if (arguments[0].equals("collect")) collect(); else dump();
        isOver = true;
    }
}
"""


class Pauses(RecordTest):
    def said(self, how):
        source = self.write("Shop.java", JAVA)
        subprocess.run(["javac", "-d", os.path.dirname(source), source], check=True)
        self.record([shutil.which("java"), "-cp", os.path.dirname(source), "Shop", how])
        return [row for row in self.summary()["explanations"] if row["kind"] in ("garbage", "pause")]

    def test_garbage(self):
        """Of who asks for it and who is stopped for it."""
        rows = self.said("collect")
        self.assertTrue(rows)
        self.assertEqual(rows[0]["pattern"]["key"], "garbage_collection")
        self.assertRegex(rows[0]["sentence"], r"^java is stopped .* in `Shop\.\w+` \(Shop\.java:\d+\).*, as its runtime collects garbage( \(`VM_\w+`\))?\.$")

    def test_safepoint(self):
        rows = [row for row in self.said("dump") if row["kind"] == "pause"]
        self.assertTrue(rows)
        self.assertRegex(rows[0]["sentence"], r"^java is stopped .* at a safepoint \(`VM_ThreadDump`\)(, longest)? in `Shop\.\w+` \(Shop\.java:\d+\)")


if __name__ == "__main__":
    main()
