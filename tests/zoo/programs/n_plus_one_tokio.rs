// Tasks ask one server over one connection, in turn: a lock of tokio that is held until the answer.
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

async fn ask_stock(connection: &Mutex<TcpStream>) {
    let mut connection = connection.lock().await;
    let mut answer = [0u8; 16];
    connection.write_all(b"ask\n").await.unwrap();
    connection.read(&mut answer).await.unwrap();
}

async fn order(connection: Arc<Mutex<TcpStream>>) {
    for _ in 0..25 {
        ask_stock(&connection).await;
    }
}

#[tokio::main(worker_threads = 2)]
async fn buy() {
    let stream = loop {
        match TcpStream::connect("127.0.0.1:7511").await {
            Ok(stream) => break stream,
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    let connection = Arc::new(Mutex::new(stream));
    let tasks: Vec<_> = (0..3).map(|_| tokio::spawn(order(connection.clone()))).collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[inline(never)]
fn look_up() -> &'static [u8] {
    std::thread::sleep(Duration::from_millis(12));
    b"done\n"
}

async fn answer(mut client: TcpStream) {
    let mut line = [0u8; 16];
    while client.read(&mut line).await.unwrap_or(0) > 0 {
        client.write_all(look_up()).await.unwrap();
    }
}

#[tokio::main(worker_threads = 2)]
async fn sell() {
    let listener = TcpListener::bind("127.0.0.1:7511").await.unwrap();
    loop {
        tokio::spawn(answer(listener.accept().await.unwrap().0));
    }
}

fn main() {
    if std::env::args().nth(1).is_some() {
        return sell();
    }
    std::os::unix::fs::symlink(std::env::current_exe().unwrap(), "stock").unwrap();
    let mut stock = std::process::Command::new("./stock").arg("sell").spawn().unwrap();
    buy();
    stock.kill().unwrap();
    stock.wait().unwrap();
}
