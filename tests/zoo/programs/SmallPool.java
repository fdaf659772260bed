// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.ArrayBlockingQueue;

/** Eight workers share two connections. */
public class SmallPool {
    private static final ArrayBlockingQueue<Integer> CONNECTIONS = new ArrayBlockingQueue<>(2);

    static Integer checkOut() throws InterruptedException {
        return CONNECTIONS.take();
    }

    static void query() throws InterruptedException {
        Integer connection = checkOut();
        Thread.sleep(30);
        CONNECTIONS.put(connection);
    }

    static void work() {
        try {
            for (int i = 0; i < 12; i++) {
                query();
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        CONNECTIONS.put(1);
        CONNECTIONS.put(2);
        Thread[] workers = new Thread[8];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new Thread(SmallPool::work, "worker-" + i);
            workers[i].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
    }
}
