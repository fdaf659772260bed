// SPDX-License-Identifier: Apache-2.0
// Readers of a table wait while one thread reloads it from disk.
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <unistd.h>
#include <vector>

static std::shared_mutex table_lock;

__attribute__((noinline)) static void reload_table(int file)
{
    std::unique_lock hold(table_lock);
    for (int i = 0; i < 200; i++) {
        char row[4096] = {};
        if (pwrite(file, row, sizeof(row), 4096 * i) < 0 || fsync(file))
            abort();
    }
}

__attribute__((noinline)) static void look_up(int n)
{
    std::shared_lock hold(table_lock);
    asm volatile("" ::"r"(n));
}

int main()
{
    int file = open("table", O_RDWR | O_CREAT, 0600);
    std::thread writer([=] {
        for (int i = 0; i < 30; i++) {
            reload_table(file);
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    });
    std::vector<std::thread> readers;
    for (int r = 0; r < 3; r++)
        readers.emplace_back([] {
            for (int i = 0; i < 200; i++) {
                look_up(i);
                std::this_thread::sleep_for(std::chrono::microseconds(200));
            }
        });
    for (auto &reader : readers)
        reader.join();
    writer.join();
}
