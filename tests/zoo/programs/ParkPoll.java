// SPDX-License-Identifier: Apache-2.0
// Whether the job has ended is looked at again and again.
import java.util.concurrent.locks.LockSupport;

public class ParkPoll {
    private static volatile boolean isDone;

    private static void runJob() {
        try {
            Thread.sleep(1500);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        isDone = true;
    }

    private static void awaitJob() {
        while (!isDone)
            LockSupport.parkNanos(10_000_000);
    }

    public static void main(String[] arguments) throws InterruptedException {
        Thread job = new Thread(ParkPoll::runJob, "job");
        job.start();
        awaitJob();
        job.join();
    }
}
