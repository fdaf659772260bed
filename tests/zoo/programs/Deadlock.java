// SPDX-License-Identifier: Apache-2.0

/** Two threads take two monitors in opposite order, and who started them gives up. */
public class Deadlock {
    private static final Object LEDGER = new Object();
    private static final Object ACCOUNTS = new Object();

    static void pause() {
        try {
            Thread.sleep(100);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    static void transfer() {
        synchronized (LEDGER) {
            pause();
            synchronized (ACCOUNTS) {
                System.out.println("transferred");
            }
        }
    }

    static void report() {
        synchronized (ACCOUNTS) {
            pause();
            synchronized (LEDGER) {
                System.out.println("reported");
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Thread one = new Thread(Deadlock::transfer);
        Thread two = new Thread(Deadlock::report);
        one.setDaemon(true);
        two.setDaemon(true);
        one.start();
        two.start();
        one.join(3000);
    }
}
