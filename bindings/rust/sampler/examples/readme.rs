//! The program of the project's README, in Rust: five draws from one row.

use sampler::{Error, Options, Rows, Sampler};

fn main() -> Result<(), Error> {
    let logits = [2.0, 2.5, 1.5, -1.0, 0.0];
    let mut token_ids = [0; 1];
    // The sampler brings a workspace for rows of this size.
    let mut sampler = Sampler::new(Options { max_rows: 1, max_cols: 5, ..Options::default() })?;
    let rows = Rows::logits(&logits, 1, 5);
    for step in 0..5 {
        // top-k 3, top-p 0.95, temperature 0.8, seed 1, and another offset each step
        sampler.top_k_top_p(&rows, 3, 0.95, 0.8, 1, step, &mut token_ids)?;
        println!("step {step}: token {}", token_ids[0]);
    }
    Ok(())
}
