#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Locks of languages: who waits for one where, and what its holder does meanwhile, of programs that are known."""
import glob
import os
import re
import shutil
import subprocess

from recording import RecordTest, main

PYTHON = """import threading, time
class Report:
    def render(self, until):
        total = 0
        while time.monotonic() < until:
            total += 1
def handle(until):
    while time.monotonic() < until:
        time.sleep(0.002)
def run():
    time.sleep(0.7)  # for whoever reads where this interpreter keeps its frames
    until = time.monotonic() + 1.5
    thread = threading.Thread(target=Report().render, args=(until,))
    thread.start()
    handle(until)
    thread.join()
run()
"""
RUBY = """def now() = Process.clock_gettime(Process::CLOCK_MONOTONIC)
class Report
  def render(over)
    total = 0
    while now < over
      total += 1
    end
  end
end
def handle(over)
  while now < over
    sleep 0.002
  end
end
sleep 0.7 # for whoever reads where this interpreter keeps its frames
over = now + 2
thread = Thread.new { Report.new.render(over) }
handle(over)
thread.join
"""
JAVA = """import java.util.concurrent.locks.*;
public class Shop {
    static final Object stock = new Object();
    static final ReentrantLock prices = new ReentrantLock();
    static volatile boolean isOver;
    static void render(int ms) throws Exception {
        Thread.sleep(ms);
    }
    static void hold() throws Exception {
        for (; !isOver; Thread.sleep(1))
            synchronized (stock) { render(7); }
    }
    static void keep() throws Exception {
        for (; !isOver; Thread.sleep(1)) {
            prices.lock();
            try { render(11); } finally { prices.unlock(); }
        }
    }
    static void sell() throws Exception {
        synchronized (stock) { Thread.onSpinWait(); }
        prices.lock();
        prices.unlock();
    }
    interface Work { void run() throws Exception; }
    static void start(String name, Work work) {
        new Thread(() -> { try { work.run(); } catch (Exception e) { throw new RuntimeException(e); } }, name).start();
    }
    public static void main(String[] arguments) throws Exception {
        Thread.sleep(700); // for whoever reads where this machine keeps its code
        start("holder", Shop::hold);
        start("keeper", Shop::keep);
        for (int i = 0; i < 150; i++, Thread.sleep(2))
            sell();
        isOver = true;
    }
}
"""


class Locks(RecordTest):
    def said(self):
        return [row["sentence"] for row in self.summary()["explanations"] if row["kind"] == "lock"]

    def sentence(self, words):
        found = [sentence for sentence in self.said() if words in sentence]
        self.assertEqual(len(found), 1, self.said())
        return found[0]

    def check_gil(self, python):
        out = self.path(python.strip("/").replace("/", "-"))
        self.record([python, self.write("shop.py", PYTHON)], "--out", out)
        self.out = out
        self.assertRegex(self.sentence(" for the GIL"),
                         r"^python\S* waits .* for the GIL in `handle` \(shop\.py:9\), \d+ times; it is held while `(Report\.)?render` "
                         r"\(shop\.py:[56]\) runs(, in `\w+`)?(, and its holder waits \S+ m?s for a CPU)?\. Interpreter lock \(GIL\), certain: ")
        with open(out + "/unversioned/main/waits.html", encoding="utf-8") as page:
            self.assertRegex(page.read(), r"GIL \([^)]+\) waits [^\n<]* in (Report\.)?render \(shop\.py:[56]\)")

    def test_python(self):
        pythons = {}
        for path in ["/usr/bin/python3", *glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3"))]:
            said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
            if re.match(r"Python 3\.(9|1[0-3])\.", said):
                pythons.setdefault(said, path)
        for said, path in pythons.items():
            with self.subTest(said):
                self.check_gil(path)

    def test_ruby(self):
        """Debian's libruby names none of its own functions. One thread waits: with a timeout, as it would sleep on purpose."""
        self.record([shutil.which("ruby"), self.write("shop.rb", RUBY)])
        self.assertRegex(self.sentence(" for the GVL"),
                         r"^ruby\S* waits .* for the GVL in `handle` \(shop\.rb:12\), \d+ times; it is held while `[^`]*(render|now)` "
                         r"\(shop\.rb:[156]\)(, called from `[^`]+` \([^)]+\),)? runs"
                         r"(, in `\w+`)?(, and its holder waits \S+ m?s for a CPU)?\. Interpreter lock \(GVL\), certain: ")

    def test_java(self):
        """Of a monitor, and of one that parks."""
        source = self.write("Shop.java", JAVA)
        subprocess.run(["javac", "-d", os.path.dirname(source), source], check=True)
        self.record([shutil.which("java"), "-cp", os.path.dirname(source), "Shop"])
        self.assertRegex(self.sentence(" for a monitor"),
                         r"^java .* for a monitor in `Shop\.sell` \(Shop\.java:20\).*; it is held during `[^`]+` in `Shop\.render` \(Shop\.java:7\)")
        self.assertRegex(self.sentence(" for a `ReentrantLock`"),
                         r"^java .* for a `ReentrantLock` in `Shop\.sell` \(Shop\.java:21\).*; it is held during `[^`]+` in `Shop\.render`")


if __name__ == "__main__":
    main()
