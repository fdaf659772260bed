#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""repeated.py BUILD_DIR CTEST-ARG...: ctest there, each test that fails once more. Only of those with the label "live" is a second try worth
anything: another test that passes then has failed, in the summary and in the exit status. What was repeated is listed before the summary."""
import os, re, subprocess, sys

RESULT = re.compile(r"^\s*(?:\d+/\d+ )?Test\s+#(\d+): (\S+) \.*\s*(?:Subprocess \w+)?(Passed|\*\*\*\S+)")
SUMMARY = re.compile(r"^(\d+)% tests passed, (\d+) tests failed out of (\d+)$")


def live_tests(build):
    listed = subprocess.run(["ctest", "--test-dir", build, "-N", "-L", "^live$"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return set(re.findall(r"Test\s+#\d+: (\S+)", listed))


class Results:
    def __init__(self, live):
        self.live, self.numbers, self.failed, self.passed_late = live, {}, set(), []

    def see(self, line):
        found = RESULT.match(line)
        if not found:
            return
        number, name, result = found.groups()
        self.numbers[name] = number
        if result != "Passed":
            self.failed.add(name)
        elif name in self.failed:
            self.failed.discard(name)
            self.passed_late.append(name)

    def not_worth(self):
        return [name for name in self.passed_late if name not in self.live]

    @staticmethod
    def skipped_cases(build):
        """What cases inside of tests that passed said when they were skipped."""
        path = build + "/Testing/Temporary/LastTest.log"
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8", errors="replace") as file:
            return re.findall(r"(\w+) \([\w.]+\)(?:\n[^\n]*)? \.\.\. skipped '(.*)'$", file.read(), re.M)

    def finish(self, summary, build):
        """The lines of the summary, where what passed late and must not is counted as failed."""
        late = self.not_worth()
        skipped = self.skipped_cases(build)
        print(f"Skipped inside of tests: {len(skipped)} cases" + "".join(f"\n\t{name}: {why}" for name, why in skipped) + "\n")
        if self.passed_late:
            print("Passed at the second try: " + ", ".join(self.passed_late) + "\n")
        for at, line in enumerate(summary):
            found = SUMMARY.match(line)
            if found and late:
                failed, count = int(found[2]) + len(late), int(found[3])
                summary[at] = f"{100 * (count - failed) // count}% tests passed, {failed} tests failed out of {count}\n"
        if late and not any(line.startswith("The following tests FAILED:") for line in summary):
            summary += ["\n", "The following tests FAILED:\n"]
        summary += [f"\t{self.numbers[name]:>3} - {name} (not live, passed at the second try only)\n" for name in late]
        sys.stdout.writelines(summary)
        return bool(late)


def main():
    build, words = sys.argv[1], sys.argv[2:]
    results, summary = Results(live_tests(build)), []
    runner = subprocess.Popen(["ctest", "--test-dir", build, "--repeat", "until-pass:2", *words], stdout=subprocess.PIPE, text=True, errors="replace")
    for line in runner.stdout:
        if summary or SUMMARY.match(line):
            summary.append(line)
            continue
        results.see(line)
        print(line, end="", flush=True)
    status = runner.wait()
    is_late = results.finish(summary, build)
    return status or (8 if is_late else 0)


if __name__ == "__main__":
    sys.exit(main())
