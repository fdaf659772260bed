// SPDX-License-Identifier: Apache-2.0
// Sleeps four times for half a second.
public class Sleeps {
    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 4; i++)
            Thread.sleep(500);
    }
}
