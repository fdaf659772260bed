// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;

/** Each record is made durable by itself. */
public class FsyncEach {
    static void appendRecord(RandomAccessFile journal, ByteBuffer record) throws IOException {
        record.rewind();
        journal.getChannel().write(record);
        journal.getChannel().force(true);
    }

    public static void main(String[] arguments) throws IOException {
        ByteBuffer record = ByteBuffer.allocateDirect(4096);
        try (RandomAccessFile journal = new RandomAccessFile("orders.journal", "rw")) {
            for (int i = 0; i < 4000; i++) {
                appendRecord(journal, record);
            }
        }
    }
}
