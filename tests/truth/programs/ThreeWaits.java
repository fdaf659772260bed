// SPDX-License-Identifier: Apache-2.0
// The main thread of a Java program waits three times: for a job of its pool, for a monitor that another thread holds, for garbage collections.
// It prints how long they took, in ms.
import java.util.concurrent.*;

public class ThreeWaits {
    static final Object gate = new Object();
    static volatile long sink;

    static long crunch(long ms) {
        long end = System.nanoTime() + ms * 1_000_000, n = 0;
        while (System.nanoTime() < end)
            n += Long.bitCount(n * 31 + end);
        return n;
    }

    static Object tree(int depth) {
        return depth == 0 ? new byte[16] : new Object[] {tree(depth - 1), tree(depth - 1)};
    }

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        Future<Long> job = pool.submit(() -> crunch(700));
        long begin = System.nanoTime();
        sink += job.get();
        long pooled = System.nanoTime() - begin;
        CountDownLatch held = new CountDownLatch(1);
        Thread keeper = new Thread(() -> {
            synchronized (gate) {
                held.countDown();
                try {
                    Thread.sleep(500);
                } catch (InterruptedException e) {
                }
            }
        }, "keeper");
        keeper.start();
        held.await();
        begin = System.nanoTime();
        synchronized (gate) {
            sink++;
        }
        long monitor = System.nanoTime() - begin;
        Object kept = tree(18);
        begin = System.nanoTime();
        for (int i = 0; i < 4; i++)
            System.gc();
        System.out.println("waited " + pooled / 1_000_000 + " " + monitor / 1_000_000 + " " + (System.nanoTime() - begin) / 1_000_000);
        sink += kept.hashCode();
        pool.shutdown();
    }
}
