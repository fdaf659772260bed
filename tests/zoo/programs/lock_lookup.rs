// SPDX-License-Identifier: Apache-2.0
//! A cache's mutex is held while its miss is asked for over TCP.
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

struct Cache {
    rows: HashMap<u32, u8>,
    origin: TcpStream,
}

fn serve(listener: TcpListener) {
    let (mut peer, _) = listener.accept().unwrap();
    let mut byte = [0u8; 1];
    while peer.read_exact(&mut byte).is_ok() {
        thread::sleep(Duration::from_millis(10));
        peer.write_all(&byte).unwrap();
    }
}

#[inline(never)]
fn fetch_row(origin: &mut TcpStream) -> u8 {
    let mut byte = [b'q'];
    origin.write_all(&byte).unwrap();
    origin.read_exact(&mut byte).unwrap();
    byte[0]
}

#[inline(never)]
fn look_up(cache: &Mutex<Cache>, key: u32) -> u8 {
    let mut held = cache.lock().unwrap();
    if let Some(row) = held.rows.get(&key) {
        return *row;
    }
    let row = fetch_row(&mut held.origin);
    held.rows.insert(key, row);
    row
}

fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    thread::spawn(move || serve(listener));
    let cache = Arc::new(Mutex::new(Cache { rows: HashMap::new(), origin }));
    let workers: Vec<_> = (0..4)
        .map(|worker| {
            let cache = Arc::clone(&cache);
            thread::spawn(move || {
                for i in 0..40 {
                    look_up(&cache, worker * 1000 + i);
                    thread::sleep(Duration::from_millis(2)); // of the row, without the lock
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
}
