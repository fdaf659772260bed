// SPDX-License-Identifier: Apache-2.0
// Virtual threads that block a thread of the pool which runs them: java VirtualFixture.java COUNT FIFO LOG, with hidden frames shown.
// Before each such read a thread has slept, by which its frames have left the stack and came back to it, not all of them.
// Lines of LOG: [thread, from, to, [[function, file, line], ...]], innermost first, as far as the virtual thread's own go, and
// what these stand on.
import java.io.FileInputStream;
import java.io.PrintWriter;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

public class VirtualFixture {
    static final List<String> rows = new ArrayList<>();
    static final int AFTER_TRACE = 2; // lines between those of the trace and the read
    static final AtomicInteger wanted = new AtomicInteger(); // bytes: what comes before it is read would be no wait
    static String fifo, read; // its frames of a read

    static int block(FileInputStream in) throws Exception {
        byte[] one = new byte[1];
        wanted.incrementAndGet();
        StackTraceElement[] trace = new Throwable().getStackTrace();
        long before = System.nanoTime();
        in.read(one);
        keep(trace, before, System.nanoTime());
        return 1;
    }

    // By its name, or by the method that it was started with, when that is the last of the program's own.
    static String task(StackTraceElement[] trace) {
        String name = Thread.currentThread().getName().replaceAll("[0-9]+", "N");
        if (!name.isEmpty())
            return "[\"task " + name + "\", \"java/lang/VirtualThread.java\", 0]";
        StackTraceElement started = null;
        for (StackTraceElement e : trace)
            started = e.getClassName().equals("VirtualFixture") ? e : started;
        return "[\"task VirtualFixture." + started.getMethodName() + "\", \"VirtualFixture.java\", 0]";
    }

    static void keep(StackTraceElement[] trace, long before, long after) throws Exception {
        StringBuilder row = new StringBuilder("[" + JavaFixture.thread() + ", " + before + ", " + after + ", [" + read);
        for (int i = 0; i < trace.length; i++)
            row.append(", ").append(JavaFixture.place(trace[i], i == 0 ? AFTER_TRACE : 0));
        synchronized (rows) {
            rows.add(row.append(", ").append(task(trace)).append("]]").toString());
        }
    }

    // What another thread sees of one that reads.
    static String readFrames() throws Exception {
        Thread reader = new Thread(() -> {
            try (FileInputStream in = new FileInputStream(fifo)) {
                in.read(new byte[1]);
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        });
        reader.start();
        StringBuilder frames = new StringBuilder();
        for (boolean isReading = false; !isReading; Thread.sleep(20)) {
            frames.setLength(0);
            for (StackTraceElement e : reader.getStackTrace()) {
                if (!e.getClassName().equals("java.io.FileInputStream"))
                    break;
                frames.append(frames.length() > 0 ? ", " : "").append(JavaFixture.place(e, 0));
                isReading |= e.getMethodName().equals("read");
            }
        }
        try (RandomAccessFile out = new RandomAccessFile(fifo, "rw")) {
            out.write(1);
            reader.join();
        }
        return frames.toString();
    }

    static int recursion(FileInputStream in, int depth, boolean isSleeping) throws Exception {
        if (depth > 0)
            return recursion(in, depth - 1, isSleeping) + 1;
        if (isSleeping)
            Thread.sleep(1);
        return block(in);
    }

    static int through(Callable<Integer> call) throws Exception {
        return call.call() + 1;
    }

    static int lambdas(FileInputStream in) throws Exception {
        return through(() -> through(() -> recursion(in, 3, true)));
    }

    static int returned(FileInputStream in) throws Exception {
        recursion(in, 2, true);
        return block(in) + recursion(in, 5, false);
    }

    static int all(FileInputStream in) throws Exception {
        return recursion(in, 24, true) + lambdas(in) + returned(in) + recursion(in, 3, false);
    }

    static void run(int count) {
        try (FileInputStream in = new FileInputStream(fifo)) {
            for (int i = 0; i < count; i++)
                all(in);
        } catch (Exception e) {
            throw new RuntimeException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        fifo = args[1];
        try (RandomAccessFile out = new RandomAccessFile(fifo, "rw")) {
            read = readFrames();
            for (int i = 0; i < 60; i++)
                Thread.sleep(10); // the machine's large tables are read meanwhile
            List<Thread> threads = new ArrayList<>();
            threads.add(Thread.ofVirtual().name("reader-", 7).start(() -> run(count)));
            threads.add(Thread.ofVirtual().name("L\u00e4ufer 2/10").start(() -> run(count)));
            threads.add(Thread.ofVirtual().start(() -> run(count)));
            ExecutorService pool = Executors.newVirtualThreadPerTaskExecutor();
            pool.submit(() -> run(count));
            pool.shutdown();
            for (int written = 0; threads.stream().anyMatch(Thread::isAlive) || !pool.isTerminated(); Thread.sleep(1))
                while (written < wanted.get()) {
                    out.write(1);
                    written++;
                }
        }
        try (PrintWriter log = new PrintWriter(args[2])) {
            rows.forEach(log::println);
        }
    }
}
