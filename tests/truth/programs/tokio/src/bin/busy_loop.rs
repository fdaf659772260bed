// SPDX-License-Identifier: Apache-2.0
// A server of tokio whose tasks block its one worker, and its clients. Writes down what busy_loop.py does, and is called so.
use std::fmt::Display;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const PACE_MS: [u64; 3] = [4, 7, 11]; // between the requests of a client

#[repr(C)]
struct Time {
    seconds: i64,
    ns: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Time) -> i32;
}

fn monotonic_ns() -> u64 {
    let mut time = Time { seconds: 0, ns: 0 };
    unsafe { clock_gettime(1, &mut time) };
    time.seconds as u64 * 1_000_000_000 + time.ns as u64
}

struct Shop {
    work: Vec<(&'static str, u64, u64, u64)>,
    reads: Vec<(u64, u64, u64)>,
    account: std::fs::File,
}

impl Shop {
    fn now(&self) -> (u64, u64) {
        let mut text = [0u8; 100];
        let size = self.account.read_at(&mut text, 0).unwrap();
        let text = std::str::from_utf8(&text[..size]).unwrap();
        (monotonic_ns(), text.split_whitespace().nth(1).unwrap().parse().unwrap())
    }

    fn did(&mut self, what: &'static str, since: (u64, u64)) {
        let now = self.now();
        self.work.push((what, since.0, now.0, now.1 - since.1));
    }

    #[inline(never)]
    fn price_order(&mut self, ns: u64) {
        let since = self.now();
        let began = Instant::now();
        while began.elapsed() < Duration::from_nanos(ns) {}
        self.did("price_order", since);
    }

    #[inline(never)]
    fn fetch_stock(&mut self, ns: u64) {
        let since = self.now();
        std::thread::sleep(Duration::from_nanos(ns));
        self.did("fetch_stock", since);
    }
}

fn numbers(line: &[u8]) -> (u64, u64) {
    let (client, number) = std::str::from_utf8(line).unwrap().split_once(':').unwrap();
    (client.parse().unwrap(), number.parse().unwrap())
}

// Nobody else has the lock: all tasks run on one thread, and none waits while it has it.
async fn answer(mut client: TcpStream, shop: Arc<Mutex<Shop>>) {
    let mut line = [0u8; 100];
    loop {
        let size = client.read(&mut line).await.unwrap_or(0);
        if size == 0 {
            return;
        }
        let (who, number) = numbers(&line[..size]);
        {
            let mut shop = shop.lock().unwrap();
            shop.reads.push((who, number, monotonic_ns()));
            match number % 5 {
                0 => shop.price_order(20_000_000),
                2 => shop.fetch_stock(8_000_000),
                _ => (),
            }
        }
        client.write_all(format!("{number}\n").as_bytes()).await.unwrap();
    }
}

// In a task of its own, so that the worker does all that there is to do.
async fn serve(listener: std::net::TcpListener, clients: usize) -> (Vec<String>, Vec<String>) {
    let account = std::fs::File::open("/proc/thread-self/schedstat").unwrap();
    let shop = Arc::new(Mutex::new(Shop { work: Vec::new(), reads: Vec::new(), account }));
    listener.set_nonblocking(true).unwrap();
    let listener = TcpListener::from_std(listener).unwrap();
    let mut answers = Vec::new();
    for _ in 0..clients {
        let (client, _) = listener.accept().await.unwrap();
        client.set_nodelay(true).unwrap();
        answers.push(tokio::spawn(answer(client, shop.clone())));
    }
    for one in answers {
        one.await.unwrap();
    }
    let shop = shop.lock().unwrap();
    let work = shop.work.iter().map(|row| format!("[\"{}\",{},{},{}]", row.0, row.1, row.2, row.3)).collect();
    (work, shop.reads.iter().map(|row| triple(row.0, row.1, row.2)).collect())
}

fn triple(a: impl Display, b: impl Display, c: impl Display) -> String {
    format!("[{a},{b},{c}]")
}

// A client: its requests, one at a time.
fn buy(port: &str, client: u64, count: u64, out: &str) {
    let mut sent = Vec::new();
    let mut server = std::net::TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    server.set_nodelay(true).unwrap();
    for number in 0..count {
        std::thread::sleep(Duration::from_millis(PACE_MS[((number + client) % 3) as usize]));
        let before = monotonic_ns();
        server.write_all(format!("{client}:{number}").as_bytes()).unwrap();
        sent.push(triple(client, number, format!("{before},{}", monotonic_ns())));
        let mut answer = [0u8; 100];
        while server.read(&mut answer).map(|size| answer[size - 1]).unwrap() != b'\n' {}
    }
    std::fs::write(format!("{out}.{client}"), sent.join(",")).unwrap();
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if words[1] == "buy" {
        return buy(&words[2], words[3].parse().unwrap(), words[4].parse().unwrap(), &words[5]);
    }
    let clients: usize = words[2].parse().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let children: Vec<_> = (0..clients)
        .map(|client| {
            let client = client.to_string();
            std::process::Command::new(&words[0]).args(["buy", &port, &client, &words[3], &words[1]]).spawn().unwrap()
        })
        .collect();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).enable_all().build().unwrap();
    let (work, reads) = runtime.block_on(async { tokio::spawn(serve(listener, clients)).await.unwrap() });
    for mut child in children {
        child.wait().unwrap();
    }
    let sent: Vec<String> = (0..clients).map(|client| std::fs::read_to_string(format!("{}.{client}", words[1])).unwrap()).collect();
    let truth = format!("{{\"work\":[{}],\"reads\":[{}],\"sent\":[{}]}}", work.join(","), reads.join(","), sent.join(","));
    std::fs::write(&words[1], truth).unwrap();
}
