// SPDX-License-Identifier: Apache-2.0
/** One child after the other does what could be done at once. */
public class SlowChild {
    static void runHook() throws Exception {
        new ProcessBuilder("sleep", "0.5").start().waitFor();
    }

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 5; i++) {
            runHook();
        }
    }
}
