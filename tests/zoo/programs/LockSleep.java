// SPDX-License-Identifier: Apache-2.0
/** Four workers insert under a monitor, and pause in it. */
public class LockSleep {
    private static final Object TABLE = new Object();

    static void insertRow() throws InterruptedException {
        synchronized (TABLE) {
            Thread.sleep(20);
        }
    }

    static void work() {
        try {
            for (int i = 0; i < 25; i++) {
                insertRow();
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Thread[] workers = new Thread[4];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new Thread(LockSleep::work, "worker-" + i);
            workers[i].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
    }
}
