/* SPDX-License-Identifier: Apache-2.0 */
/* Each message wakes all subscribers, and each parses it to see whose it is. */
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex topic_lock;
static std::condition_variable has_message;
static long message;
static volatile unsigned long sum;

static __attribute__((noinline)) long parse_message()
{
    for (int i = 0; i < 150000; i++)
        sum = sum * 6364136223846793005ul + 1;
    return message;
}

static __attribute__((noinline)) void await_message(long *seen)
{
    std::unique_lock<std::mutex> held(topic_lock);
    while (message == *seen)
        has_message.wait(held);
    *seen = parse_message();
}

static __attribute__((noinline)) void publish()
{
    std::lock_guard<std::mutex> held(topic_lock);
    message++;
    has_message.notify_all();
}

int main()
{
    std::vector<std::thread> subscribers;
    for (int i = 0; i < 10; i++)
        subscribers.emplace_back([] {
            for (long seen = 0; seen < 200;)
                await_message(&seen);
        });
    for (int i = 0; i < 200; i++) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        publish();
    }
    for (std::thread &subscriber : subscribers)
        subscriber.join();
    return 0;
}
