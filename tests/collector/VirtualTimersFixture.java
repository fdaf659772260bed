// SPDX-License-Identifier: Apache-2.0
// Virtual threads that sleep, each in functions of its own, or also wait for something else with a time limit, while the collector of
// garbage moves objects: java VirtualTimersFixture SECONDS LOG [limits], with hidden frames shown.
// Lines of LOG: [from, due, to, [[function, file, line], ...]], innermost first from the program's own on, then the task; "to" is before
// "due" where another thread has ended the wait.
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

public class VirtualTimersFixture {
    interface Wait {
        void run() throws Exception;
    }

    static final int AFTER_TRACE = 2; // lines between those of the trace and the wait
    static final LinkedBlockingQueue<Integer> empty = new LinkedBlockingQueue<>(), asked = new LinkedBlockingQueue<>(),
                                              answers = new LinkedBlockingQueue<>();
    static final List<String> rows = new ArrayList<>();
    static volatile boolean isDone;
    static volatile byte[][] litter;

    // By its name, or by the program's outermost method.
    static String task(StackTraceElement[] trace) {
        String name = Thread.currentThread().getName().replaceAll("[0-9]+", "N");
        if (!name.isEmpty())
            return "[\"task " + name + "\", \"java/lang/VirtualThread.java\", 0]";
        String started = null;
        for (StackTraceElement e : trace)
            started = e.getFileName() != null && e.getClassName().equals("VirtualTimersFixture") ? e.getMethodName() : started;
        return "[\"task VirtualTimersFixture." + started + "\", \"VirtualTimersFixture.java\", 0]";
    }

    static void keep(StackTraceElement[] trace, long before, long ms) {
        long after = System.nanoTime();
        StringBuilder row = new StringBuilder("[" + before + ", " + (before + ms * 1000000) + ", " + after + ", [");
        for (int i = 0; i < trace.length; i++)
            row.append(JavaFixture.place(trace[i], i == 0 ? AFTER_TRACE : 0)).append(", ");
        synchronized (rows) {
            rows.add(row.append(task(trace)).append("]]").toString());
        }
    }

    static void nap(long ms) throws Exception {
        StackTraceElement[] trace = new Throwable().getStackTrace();
        long before = System.nanoTime();
        Thread.sleep(ms);
        keep(trace, before, ms);
    }

    static void left(long ms) throws Exception {
        nap(ms);
    }

    static void right(long ms) throws Exception {
        nap(ms);
    }

    static int deep(int depth, long ms) throws Exception {
        if (depth > 0)
            return deep(depth - 1, ms) + 1;
        nap(ms);
        return 0;
    }

    static void park(long ms) {
        StackTraceElement[] trace = new Throwable().getStackTrace();
        long before = System.nanoTime();
        LockSupport.parkNanos(ms * 1000000);
        keep(trace, before, ms);
    }

    static void poll(LinkedBlockingQueue<Integer> queue, long ms) throws Exception {
        StackTraceElement[] trace = new Throwable().getStackTrace();
        long before = System.nanoTime();
        queue.poll(ms, TimeUnit.MILLISECONDS);
        keep(trace, before, ms);
    }

    static void request() throws Exception {
        asked.put(1);
        poll(answers, 13);
    }

    static void answer() throws Exception {
        if (asked.poll(1, TimeUnit.SECONDS) == null)
            return;
        nap(5);
        answers.put(1);
    }

    static synchronized void monitor(long ms) throws Exception {
        StackTraceElement[] trace = new Throwable().getStackTrace();
        long before = System.nanoTime();
        VirtualTimersFixture.class.wait(ms);
        keep(trace, before, ms);
    }

    static void litter() throws Exception {
        litter = new byte[1000][1000];
        Thread.sleep(3);
    }

    static Runnable until(Wait wait) {
        return () -> {
            try {
                while (!isDone)
                    wait.run();
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        };
    }

    public static void main(String[] args) throws Exception {
        List<Thread> threads = new ArrayList<>();
        threads.add(Thread.ofVirtual().name("beat").start(until(() -> nap(17))));
        threads.add(Thread.ofVirtual().name("turn-", 3).start(until(() -> {
            left(11);
            right(11);
        })));
        threads.add(Thread.ofVirtual().start(until(() -> deep(30, 29))));
        if (args.length > 2) {
            threads.add(Thread.ofVirtual().name("parker").start(until(() -> park(23))));
            threads.add(Thread.ofVirtual().name("poller 2").start(until(() -> poll(empty, 31))));
            threads.add(Thread.ofVirtual().name("asker").start(until(() -> request())));
            threads.add(Thread.ofVirtual().name("answerer").start(until(() -> answer())));
            if (Runtime.version().feature() > 21) // which has it sleep in its carrier
                threads.add(Thread.ofVirtual().name("waiter").start(until(() -> monitor(37))));
        }
        threads.add(new Thread(until(() -> litter())));
        threads.get(threads.size() - 1).start();
        Thread.sleep(1000 * Integer.parseInt(args[0]));
        isDone = true;
        for (Thread thread : threads)
            thread.join();
        try (PrintWriter log = new PrintWriter(args[1])) {
            rows.forEach(log::println);
        }
    }
}
