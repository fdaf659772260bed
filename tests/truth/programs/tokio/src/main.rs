// SPDX-License-Identifier: Apache-2.0
// A server that asks stock for each request and works, in a task of tokio: loop_hops.py.
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

struct Stock {
    turns: Semaphore,
    connections: Mutex<Vec<TcpStream>>,
}

#[inline(never)]
fn price_order() -> Duration {
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(3) {}
    began.elapsed()
}

async fn ask_stock(stock: &Stock, line: &str) {
    let _turn = stock.turns.acquire().await.unwrap();
    let mut connection = stock.connections.lock().unwrap().pop().unwrap();
    connection.write_all(line.as_bytes()).await.unwrap();
    let mut answer = [0u8; 16];
    connection.read(&mut answer).await.unwrap();
    stock.connections.lock().unwrap().push(connection);
}

async fn serve(client: TcpStream, stock: Arc<Stock>, truth: String) {
    client.set_nodelay(true).unwrap();
    let (reader, mut writer) = client.into_split();
    let mut lines = BufReader::new(reader);
    let mut own = Duration::ZERO;
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line).await.unwrap_or(0) == 0 {
            break;
        }
        ask_stock(&stock, &line).await;
        let took = price_order();
        if line == "0\n" {
            own += took;
        }
        writer.write_all(b"ok\n").await.unwrap();
    }
    if own > Duration::ZERO {
        let part = format!("{truth}.part");
        std::fs::write(&part, own.as_nanos().to_string()).unwrap();
        std::fs::rename(&part, &truth).unwrap();
    }
}

// Address to listen at, of stock, how many connections to that, where to write the truth.
async fn run(words: Vec<String>) {
    let mut connections = Vec::new();
    for _ in words[3].chars() {
        let connection = TcpStream::connect(&words[2]).await.unwrap();
        connection.set_nodelay(true).unwrap();
        connections.push(connection);
    }
    let stock = Arc::new(Stock { turns: Semaphore::new(connections.len()), connections: Mutex::new(connections) });
    let listener = TcpListener::bind(&words[1]).await.unwrap();
    loop {
        let (client, _) = listener.accept().await.unwrap();
        tokio::spawn(serve(client, stock.clone(), words[4].clone()));
    }
}

fn main() {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.thread_name("shop").enable_all().build().unwrap().block_on(run(std::env::args().collect()));
}
