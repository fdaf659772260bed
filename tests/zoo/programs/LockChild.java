// SPDX-License-Identifier: Apache-2.0
// A lock is held while a child process is waited for.
import java.util.concurrent.locks.ReentrantLock;

public class LockChild {
    static final ReentrantLock table = new ReentrantLock();

    static void reload() {
        table.lock();
        try {
            new ProcessBuilder("sleep", "0.2").start().waitFor();
        } catch (Exception error) {
            throw new IllegalStateException(error);
        } finally {
            table.unlock();
        }
    }

    static void lookUp() {
        table.lock();
        table.unlock();
    }

    public static void main(String[] args) throws Exception {
        Thread reloader = new Thread(() -> {
            for (int i = 0; i < 6; i++) {
                reload();
                pause(2);
            }
        }, "reloader");
        reloader.start();
        while (reloader.isAlive()) {
            pause(1);
            lookUp();
        }
    }

    static void pause(int ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
