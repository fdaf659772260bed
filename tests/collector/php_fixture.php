<?php
// SPDX-License-Identifier: Apache-2.0
// Sleeps in every way that frames of PHP come to stand on each other, and writes what each stack was: php_fixture.php COUNT LOG. Lines of
// LOG: [thread, from, to, [[function, file, line], ...]], innermost first, CLOCK_MONOTONIC ns.
[$count, $log] = isset($_SERVER['LOG'], $_SERVER['COUNT']) ? [$_SERVER['COUNT'], $_SERVER['LOG']] : array_slice($argv, 1);
const NAP_US = 500;
$rows = [];

function name_of(?array $entry): string
{
    if (!$entry || in_array($entry['function'], ['include', 'require', 'eval'], true))
        return '{main}';
    // An anonymous class' name has a 0 in it, and behind that where it was made.
    return (isset($entry['class']) ? strtok($entry['class'], "\0") . '::' : '') . $entry['function'];
}

// Who was called by a function of C has no place of its own.
function frames_of(array $trace): array
{
    $frames = [];
    foreach ($trace as $i => $entry)
        if (isset($entry['file']))
            $frames[] = [name_of($trace[$i + 1] ?? null), $entry['file'], $entry['line']];
    return $frames;
}

function nap(): void
{
    global $rows;
    $frames = frames_of(debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS));
    $before = hrtime(true);
    usleep(NAP_US); array_unshift($frames, ['nap', __FILE__, __LINE__]);
    $rows[] = [getmypid(), $before, hrtime(true), $frames];
}

function recursion(int $depth = 24): int
{
    if ($depth > 0)
        return recursion($depth - 1) + 1;
    nap();
    return 0;
}

function numbers(): Generator
{
    for ($i = 0; $i < 2; $i++) {
        nap();
        yield $i;
    }
}

class Text
{
    public function __construct(private string $text)
    {
    }

    public function __toString(): string
    {
        nap();
        return $this->text;
    }

    public function __get(string $name): string
    {
        nap();
        return $name;
    }

    public function __call(string $name, array $arguments): string
    {
        nap();
        return $name;
    }

    public function __destruct()
    {
        nap();
    }

    public static function compare(string $a, string $b): int
    {
        nap();
        return $a <=> $b;
    }

    public function closures(): array
    {
        return array_map(function ($x) {
            nap();
            return $x;
        }, [1, 2]);
    }
}

function anonymous(): void
{
    $made = new class {
        public function rest(): void
        {
            nap();
        }
    };
    $made->rest();
}

function callbacks(): void
{
    $list = ['b', 'a'];
    usort($list, ['Text', 'compare']);
    (new Text('c'))->closures();
    array_reduce([1, 2], fn($sum, $x) => nap() ?? $sum);
    preg_replace_callback('/x/', function ($match) {
        nap();
        return 'z';
    }, 'xy');
    call_user_func_array('recursion', [2]);
    $text = new Text('d');
    strlen($text);
    $text->colour;
    $text->paint(1);
}

function exceptions(): void
{
    try {
        recursion(
            2);
        throw new RuntimeException('no');
    } catch (RuntimeException) {
        nap();
    } finally {
        nap();
    }
}

function fibers(): void
{
    $fiber = new Fiber(function (): void {
        nap();
        Fiber::suspend();
        recursion(3);
    });
    $fiber->start();
    $fiber->resume();
}

function evals(int $number): void
{
    eval(str_repeat("\n", $number % 40) . "nap();");
    $name = "made_$number";
    eval("function $name() {\n nap();\n}\n $name();");
}

$ways = ['recursion', fn() => iterator_to_array(numbers()), 'callbacks', 'anonymous', 'exceptions', 'fibers', fn() => include __DIR__ . '/php_included.php'];
for ($i = 0; $i < $count * count($ways); $i++) {
    $ways[$i % count($ways)]();
    evals($i);
}
$lines = '';
foreach ($rows as $row)
    $lines .= json_encode($row, JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE) . "\n";
file_put_contents($log, $lines);
