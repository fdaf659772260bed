// Tasks hold a lock of the standard library over fsync: others block their workers.
use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex};

#[inline(never)]
fn append_entry(journal: &Mutex<File>, number: u32) {
    let mut file = journal.lock().unwrap();
    file.write_all(&[b'0' + (number % 10) as u8; 65536]).unwrap();
    file.sync_all().unwrap();
}

async fn pay(journal: Arc<Mutex<File>>) {
    for number in 0..150 {
        append_entry(&journal, number);
        tokio::task::yield_now().await;
    }
}

#[tokio::main(worker_threads = 4)]
async fn main() {
    let journal = Arc::new(Mutex::new(File::create("journal.log").unwrap()));
    let tasks: Vec<_> = (0..4).map(|_| tokio::spawn(pay(journal.clone()))).collect();
    for task in tasks {
        task.await.unwrap();
    }
}
