// SPDX-License-Identifier: Apache-2.0
// Sleeps inside a trait's method: names_fixture N
mod shop {
    pub trait Settle {
        fn settle(&self) -> usize;
    }
    pub struct Till<T>(pub T);
    impl Settle for Till<Vec<String>> {
        #[inline(never)]
        fn settle(&self) -> usize {
            std::thread::sleep(std::time::Duration::from_millis(2));
            self.0.len()
        }
    }
}
use shop::Settle;

fn main() {
    let n: usize = std::env::args().nth(1).map_or(1, |a| a.parse().unwrap());
    let till = shop::Till(vec![String::new()]);
    let all: usize = (0..n).map(|_| till.settle()).sum();
    println!("{}", all);
}
