// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Four workers write one journal under a lock, and make it durable in it. */
public class LockForce {
    private static final Object JOURNAL_LOCK = new Object();
    private static FileChannel journal;

    static void appendEntry() throws IOException {
        synchronized (JOURNAL_LOCK) {
            journal.write(ByteBuffer.allocate(4096));
            journal.force(true);
        }
    }

    static void work() {
        try {
            for (int i = 0; i < 300; i++) {
                appendEntry();
            }
        } catch (IOException failed) {
            throw new IllegalStateException(failed);
        }
    }

    public static void main(String[] arguments) throws Exception {
        journal = FileChannel.open(Path.of("orders.journal"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        Thread[] workers = new Thread[4];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new Thread(LockForce::work, "worker-" + i);
            workers[i].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
    }
}
