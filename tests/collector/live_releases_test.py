#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""As live_languages_test.py, of the languages' releases that other releases of Debian have: live_releases_test.py FACTS_DUMP ""
CACHE_DIR. Their packages are unpacked into folders (tests/debian_root.py), which are kept in CACHE_DIR. RELEASES in the environment: names
of programs, separated by commas, of which only those are run."""
import glob, os, shutil, subprocess, sys, tempfile, unittest

import live_languages_test as languages
from live_facts_test import record

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import debian_root

CACHE, FOLDER = sys.argv[3], os.path.dirname(os.path.abspath(__file__))
PACKAGES = {"sid": ["perl", "python3.14"], "trixie": ["perl", "php8.4-cli", "php8.4-fpm", "php8.4-opcache", "python3", "ruby3.3"]}
COMPILED = ["-d", "zend_extension=opcache.so", "-d", "opcache.enable_cli=1", "-d", "opcache.jit_buffer_size=32M"]
# name -> (suite, the interpreter in /usr, arguments); the fixtures are in /mnt, a program's log is there, too.
PROGRAMS = {
    "Perl 5.40": ("trixie", "bin/perl5.40*", ["/mnt/perl_fixture.pl", "3"]),
    "Perl 5.42": ("sid", "bin/perl5.42*", ["/mnt/perl_fixture.pl", "3"]),
    "Python 3.13 of Debian": ("trixie", "bin/python3.13", ["-W", "ignore", "/mnt/python_fixture.py", "3"]),
    "Python 3.14": ("sid", "bin/python3.14", ["-W", "ignore", "/mnt/python_fixture.py", "3"]),
    "Ruby 3.3": ("trixie", "bin/ruby3.3", ["-W0", "/mnt/ruby_fixture.rb", "2"]),
    "PHP 8.4": ("trixie", "bin/php8.4", ["/mnt/php_fixture.php", "12"]),
    "PHP 8.4 with traces compiled": ("trixie", "bin/php8.4", [*COMPILED, "-d", "opcache.jit=tracing", "/mnt/php_fixture.php", "3"]),
    "PHP 8.4 with functions compiled": ("trixie", "bin/php8.4", [*COMPILED, "-d", "opcache.jit=function", "/mnt/php_fixture.php", "3"]),
    "PHP 8.4 of php-fpm": ("trixie", "bin/python3", ["/mnt/served_fixture.py", "php-fpm", "3"]),
}


def wanted():
    names = os.environ.get("RELEASES", "").split(",")
    return {name: program for name, program in PROGRAMS.items() if names == [""] or name in names}


def command_of(root, interpreter, arguments):
    """None: the suite has gone on to another release."""
    found = sorted(glob.glob(f"{root}/usr/{interpreter}"), key=len)
    return [found[-1].removeprefix(root), *arguments] if found else None


class Releases(unittest.TestCase):
    def skip(self, why):
        self.skipTest(" ".join(str(why).replace("'", "").split())) # in one line, without quotes: it is counted (tests/repeated.py)

    def programs(self):
        """{name: (root, command)}; what cannot be had is said."""
        found, roots = {}, {}
        for name, (suite, interpreter, arguments) in wanted().items():
            with self.subTest(name):
                try:
                    roots[suite] = roots.get(suite) or debian_root.unpacked(suite, PACKAGES[suite], CACHE)
                except debian_root.Missing as why:
                    self.skip(why)
                command = command_of(roots[suite], interpreter, arguments)
                if not command:
                    self.skip(f"{suite} has no {interpreter} any more")
                found[name] = (roots[suite], command)
        return found

    def test_stacks(self):
        programs = self.programs()
        with tempfile.TemporaryDirectory() as folder:
            for name in os.listdir(FOLDER):
                if name.split(".")[0].split("_")[-1] in ("fixture", "included", "required"):
                    shutil.copy(f"{FOLDER}/{name}", folder)
            def work():
                for name, (root, command) in programs.items():
                    subprocess.run(debian_root.command(root, folder, [*command, f"/mnt/{name}"]), check=True,
                                   env=dict(os.environ, PERL_BADLANG="0")) # of its locale nothing is there
            _, facts = record(work)
            sleeps = languages.sleeps_of(facts)
            print("walks:", facts[-1], file=sys.stderr)
            for name in programs:
                for log, said in ((name, name), (name + ".child", name + ", its child")):
                    if os.path.exists(f"{folder}/{log}"):
                        with self.subTest(said):
                            languages.Languages.compare(self, said, languages.rows_of(f"{folder}/{log}"), sleeps)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
