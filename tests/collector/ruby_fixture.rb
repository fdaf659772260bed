# SPDX-License-Identifier: Apache-2.0
# Sleeps in every way that frames of Ruby come to stand on each other, and writes what each stack was: ruby_fixture.rb COUNT LOG. Lines
# of LOG: [thread, from, to, [[function, file, line], ...]], innermost first, CLOCK_MONOTONIC ns. Functions of C, which `caller` names
# as well, are left out: they are known by having no name of ours.
COUNT, LOG = ARGV[0].to_i, ARGV[1]
NAP = 0.0005
ROWS = Queue.new
OURS = /\A(?:(?:block|rescue|ensure)(?: \(\d+ levels\))? in )*(?:our_[[:word:]]+|<main>|<top \(required\)>|<class:Our[[:word:]]*>|method_missing|to_s|<=>)\z/

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

def thread_number # Thread#native_thread_id is the parent's in a child
  File.basename(File.readlink("/proc/thread-self")).to_i
end

def our_nap
  stack = caller_locations(0).select { |l| l.label =~ OURS || l.path.to_s.start_with?("<internal:") }
  rows = stack.map { |l| [l.label, l.absolute_path || l.path, l.lineno] }
  rows[0][2] = NAP_LINE
  before = now
  sleep NAP
  ROWS << [thread_number, before, now, rows]
end
NAP_LINE = method(:our_nap).source_location[1] + 5

def our_recursion(depth = 24)
  return our_recursion(depth - 1) + 1 if depth > 0
  our_nap
  0
end

def our_blocks
  [1, 2].sort_by { |x| our_nap; x }
  { a: 1 }.map { |k, v| [k].inject(0) { |sum, x|
    our_nap
    sum } }
  3.times.select { |x| our_nap if x == 1 }
  1.tap { our_nap }
end

def our_yield
  yield 1
  our_nap
ensure
  our_nap
end

def our_exceptions
  our_yield { |x| raise ArgumentError,
                        "no" }
rescue ArgumentError
  our_nap
  begin
    Integer("x")
  rescue StandardError => e
    our_nap
    e.message
  end
end

class OurText
  include Comparable
  attr_reader :text

  def initialize(text)
    @text = text
  end

  def <=>(other)
    our_nap
    text <=> other.text
  end

  def to_s
    our_nap
    "text"
  end

  def method_missing(name, *)
    our_nap
    name
  end

  def respond_to_missing?(*)
    false
  end

  include Enumerable

  def our_each
    yield 1
    our_nap
  end
  alias each our_each
end

def our_callbacks
  [OurText.new("b"), OurText.new("a")].sort
  "#{OurText.new("c")}"
  OurText.new("d").colour
  OurText.new("e").to_a
  OurText.new("f") < OurText.new("g")
  "xy".gsub(/x/) { our_nap; "z" }
  method(:our_recursion).to_proc.call(2)
  [2].each(&->(x) { our_nap })
  our_hash = Hash.new { |h, k| our_nap; h[k] = 1 }
  our_hash[:a]
end

define_method(:our_defined) do |x = 1|
  our_nap
  x
end

def our_fibers
  numbers = Enumerator.new do |y|
    our_nap
    y << 1
    our_nap
    y << 2
  end
  numbers.next
  numbers.next
  fiber = Fiber.new { |x| our_nap; Fiber.yield(x); our_recursion(3) }
  fiber.resume(1)
  fiber.resume
end

def our_evals(number)
  text = "\n" * (number % 40) + "def our_made_#{number % 7}\n  our_nap\nend\nour_made_#{number % 7}\n"
  eval(text, TOPLEVEL_BINDING, "<made #{number % 3}>")
  OurText.class_eval("def our_text_#{number % 5}; our_nap; end", "<class #{number % 5}>", 7)
  OurText.new("x").public_send("our_text_#{number % 5}")
end

eval("def our_long(way)\n" + (1..120).map { |i| "  way += #{i} if way == #{i}\n  our_nap if way == #{-i}\n" if i % 2 == 1 }.join + "  our_nap\n  way\nend\n",
     TOPLEVEL_BINDING, "<long>")

def our_long_ways
  [-1, -9, -31, -101, -119, 0].each { |way| our_long(way) }
end

def our_grüße
  our_nap
end

WAYS = [-> { our_recursion }, -> { our_blocks }, -> { our_exceptions }, -> { our_callbacks }, -> { our_defined }, -> { our_fibers },
        -> { our_long_ways }, -> { our_grüße }]

def our_work(number)
  WAYS[number % WAYS.size].call
  our_evals(number)
end

def our_threads
  Array.new(50) { |number| Thread.new { COUNT.times { |i| our_work(number + i) } } }.each(&:join)
end

def write(path)
  File.open(path, "w") do |file|
    file.puts "[#{ROWS.pop.then { |t, a, b, rows| "#{t},#{a},#{b},#{rows.inspect}" }}]" until ROWS.empty?
  end
end

def our_child
  ROWS.clear
  WAYS.size.times { |i| our_work(i) }
  write(LOG + ".child")
  exit!(true)
end

(WAYS.size * COUNT).times { |i| our_work(i) }
our_threads
child = Process.fork { our_child }
Process.wait(child)
write(LOG)
