//! The program of the project's README, in Rust: five draws from one row.

use sampler::{Error, Sampler, TopKTopP};

fn main() -> Result<(), Error> {
    let logits = [2.0, 2.5, 1.5, -1.0, 0.0];
    let mut token_ids = [0i32; 1];
    // The sampler brings a workspace for rows of this size.
    let mut sampler = Sampler::builder().max_rows(1).max_cols(5).build()?;
    for step in 0..5 {
        sampler.top_k_top_p(
            TopKTopP::new()
                .input(&logits)
                .num_rows(1)
                .num_cols(5)
                .temperature(0.8)
                .top_k(3)
                .top_p(0.95)
                .seed(1)
                .offset(step) // another one each step
                .out_token_ids(&mut token_ids),
        )?;
        println!("step {step}: token {}", token_ids[0]);
    }
    Ok(())
}
