//! How long a call takes whose row is so short that the way to the library is what counts: the
//! program of `bench/bindings/overhead.c`, in Rust. Prints one line of JSON.

use std::time::Instant;

use sampler::{Error, Options, Rows, Sampler};

const NUM_CALLS: u32 = 200_000;
const NUM_REPEATS: usize = 5;

fn ns_per_call(sampler: &mut Sampler, first_offset: u64) -> Result<f64, Error> {
    let logits = [2.0, 2.5, 1.5, -1.0, 0.0];
    let mut token_ids = [0; 1];
    let logits = Rows::logits(&logits, 1, 5);
    let start = Instant::now();
    for offset in first_offset..first_offset + u64::from(NUM_CALLS) {
        sampler.top_k_top_p(&logits, 3, 0.95, 0.8, 1, offset, &mut token_ids)?;
    }
    Ok(start.elapsed().as_nanos() as f64 / f64::from(NUM_CALLS))
}

fn main() -> Result<(), Error> {
    let mut sampler = Sampler::new(Options { max_rows: 1, max_cols: 5, ..Options::default() })?;
    ns_per_call(&mut sampler, 0)?; // warms up
    let mut repeats = Vec::new();
    for repeat in 1..=NUM_REPEATS as u64 {
        repeats.push(ns_per_call(&mut sampler, repeat * u64::from(NUM_CALLS))?);
    }
    let mut sorted = repeats.clone();
    sorted.sort_by(f64::total_cmp);
    let all: Vec<String> = repeats.iter().map(|ns| format!("{ns:.1}")).collect();
    println!(
        "{{\"language\": \"rust\", \"ns_per_call\": {:.1}, \"repeats\": [{}]}}",
        sorted[NUM_REPEATS / 2],
        all.join(", ")
    );
    Ok(())
}
