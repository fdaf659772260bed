// SPDX-License-Identifier: Apache-2.0
import java.util.HashMap;
import java.util.Map;

/** So much is kept and made anew that most of the time is the collector's. */
public class Collector {
    private static final Map<Integer, int[]> KEPT = new HashMap<>();

    static void remember(int round) {
        for (int i = 0; i < 200_000; i++) {
            KEPT.put(i, new int[] {i, round, i + round});
        }
    }

    public static void main(String[] arguments) {
        for (int round = 0; round < 60; round++) {
            remember(round);
            System.gc();
        }
    }
}
