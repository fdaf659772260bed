#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads that a language's runtime stops: where, and for what."""
import json
import os
import shutil
import subprocess

from recording import RecordTest, main, program

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

GO = """package main

import (
	"runtime"
	"time"
)

var sum int
var isOver bool

func price() { // lets go by itself only: signals are not used to make it (asyncpreemptoff)
	for !isOver {
		s := 0
		for i := 0; i < 60000000; i++ {
			s += i ^ s<<1
		}
		sum = s
		runtime.Gosched()
	}
}

func sell(receipts chan int) {
	for i := 0; ; i++ {
		receipts <- i
	}
}

func count(receipts chan int) {
	for range receipts {
	}
}

func main() {
	time.Sleep(700 * time.Millisecond) // for whoever reads where this machine keeps its code
	receipts := make(chan int)
	go sell(receipts)
	go count(receipts)
	go price()
	var memory runtime.MemStats
	for i := 0; i < 30; i++ {
		runtime.ReadMemStats(&memory)
		time.Sleep(2 * time.Millisecond)
	}
	isOver = true
}
"""
NODE = """const kept = [];
function load() {
    for (let i = 0; i < 3e6; i++)
        kept.push({ number: i, text: "article " + i });
}
setTimeout(load, 700); // as in Java
"""


class Pauses(RecordTest):
    def pauses(self, command):
        """What is said of them, however little beside the rest: a busy machine takes most of the time."""
        self.record(command)
        said = subprocess.run([program("wakepath"), "query", "--store", self.store, "--findings", "--top", "0", "--format", "json"], check=True,
                              stdout=subprocess.PIPE, text=True)
        return [row for row in json.loads(said.stdout)["releases"][0]["findings"] if row["kind"] in ("garbage", "pause")]

    def said(self, how):
        source = self.write("Shop.java", JAVA)
        subprocess.run(["javac", "-d", os.path.dirname(source), source], check=True)
        return self.pauses([shutil.which("java"), "-cp", os.path.dirname(source), "Shop", how])

    def test_go(self):
        """One does not let go; who stops the world, and those that it has stopped, wait for that. A busy machine decides which of them most."""
        source = self.write("shop.go", GO)
        environment = dict(os.environ, GOCACHE=self.folder + "/cache", GO111MODULE="off")
        subprocess.run(["go", "build", "-o", self.folder + "/shop", source], env=environment, check=True)
        self.env.update(GODEBUG="asyncpreemptoff=1", GOMAXPROCS="3")
        said = "\n".join(row["sentence"] for row in self.pauses([self.folder + "/shop"]) if row["kind"] == "pause")
        self.assertRegex(said, r"(?m)^shop is stopped .* (as|until) all goroutines are\b")

    def test_node(self):
        rows = self.pauses(["node", self.write("shop.js", NODE)])
        self.assertTrue(rows)
        self.assertRegex(rows[0]["sentence"], r"^node (is stopped|collects garbage) .* in `load` \(shop\.js")

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
