// SPDX-License-Identifier: Apache-2.0
// Sleeps in every way that frames of Java come to stand on each other, and writes what each stack was: java JavaFixture.java COUNT LOG,
// with hidden frames shown. Lines of LOG: [thread, from, to, [[function, file, line], ...]], innermost first, CLOCK_MONOTONIC ns.
import java.io.PrintWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;
import java.util.stream.IntStream;

public class JavaFixture {
    static final List<String> rows = new ArrayList<>();
    static final long NAP_MS = 1;
    static long sum;
    static String sleep; // frames of Thread.sleep

    interface Shape {
        int area(int depth) throws Exception;
    }

    static class Square implements Shape {
        public int area(int depth) throws Exception {
            return depth > 0 ? new Circle().area(depth - 1) + 1 : nap();
        }
    }

    static class Circle implements Shape {
        public int area(int depth) throws Exception {
            return depth > 0 ? new Square().area(depth - 1) + 1 : nap();
        }
    }

    static int nap() throws Exception {
        StackTraceElement[] trace = new Throwable().getStackTrace();
        long before = System.nanoTime();
        Thread.sleep(NAP_MS);
        keep(trace, before, System.nanoTime());
        return 0;
    }

    static final int AFTER_TRACE = 2; // lines between those of the trace and the sleep

    static String thread() throws Exception {
        return Path.of("/proc/thread-self").toRealPath().getFileName().toString();
    }

    static String place(StackTraceElement e, int more) {
        int dot = e.getClassName().lastIndexOf('.');
        String folder = e.getClassName().substring(0, dot + 1).replace('.', '/');
        String name = e.getClassName().replaceAll("[+/]0x[0-9a-f]+", "") + "." + e.getMethodName();
        String file = e.getFileName() == null ? "" : folder + e.getFileName();
        return "[\"" + name + "\", \"" + file + "\", " + Math.max(0, e.getLineNumber() + more) + "]";
    }

    // What another thread sees of one that sleeps.
    static String sleepFrames() throws Exception {
        Thread sleeper = new Thread(() -> {
            try {
                Thread.sleep(300000);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        sleeper.start();
        while (sleeper.getState() != Thread.State.TIMED_WAITING)
            Thread.onSpinWait();
        StringBuilder frames = new StringBuilder();
        for (StackTraceElement e : sleeper.getStackTrace()) {
            if (!e.getClassName().equals("java.lang.Thread"))
                break;
            frames.append(frames.length() > 0 ? ", " : "").append(place(e, 0));
        }
        sleeper.interrupt();
        return frames.toString();
    }

    static void keep(StackTraceElement[] trace, long before, long after) throws Exception {
        StringBuilder row = new StringBuilder("[" + thread() + ", " + before + ", " + after);
        row.append(", [").append(sleep);
        for (int i = 0; i < trace.length; i++)
            row.append(", ").append(place(trace[i], i == 0 ? AFTER_TRACE : 0));
        synchronized (rows) {
            rows.add(row.append("]]").toString());
        }
    }

    static int recursion(int depth) throws Exception {
        if (depth > 0)
            return recursion(depth - 1) + 1;
        return nap();
    }

    static int quiet(Callable<Integer> call) {
        try {
            return call.call();
        } catch (Exception e) {
            throw new RuntimeException(e);
        }
    }

    static int lambdas() {
        Supplier<Integer> supplier = () -> quiet(JavaFixture::nap);
        return supplier.get() + IntStream.range(0, 2).map(i -> quiet(() -> nap())).sum();
    }

    static int reflected() throws ReflectiveOperationException {
        Method method = JavaFixture.class.getDeclaredMethod("nap");
        return (Integer) method.invoke(null);
    }

    static int exceptions() throws Exception {
        try {
            recursion(
                2);
            throw new IllegalStateException("no");
        } catch (IllegalStateException e) {
            nap();
        } finally {
            nap();
        }
        return 0;
    }

    static synchronized int locked() throws Exception {
        synchronized (rows.getClass()) {
            return nap();
        }
    }

    // Small enough to be inlined into hot(), which is compiled in its loop and as a whole.
    static int small(int i) throws Exception {
        sum += i;
        return i % 20000 == 19999 ? inner() : 0;
    }

    static int inner() throws Exception {
        return nap();
    }

    static int hot(int turns) throws Exception {
        int all = 0;
        for (int i = 0; i < turns; i++)
            all += small(i);
        return all;
    }

    static int all() throws Exception {
        return recursion(24) + lambdas() + reflected() + exceptions() + locked() + new Square().area(5) + hot(60000);
    }

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        sleep = sleepFrames();
        for (int i = 0; i < 100; i++)
            Thread.sleep(10); // the machine's large tables are read meanwhile
        ExecutorService pool = Executors.newFixedThreadPool(3);
        List<Callable<Integer>> tasks = new ArrayList<>();
        for (int i = 0; i < count * 3; i++)
            tasks.add(JavaFixture::all);
        pool.invokeAll(tasks);
        pool.shutdown();
        all();
        try (PrintWriter log = new PrintWriter(args[1])) {
            rows.forEach(log::println);
        }
    }
}
