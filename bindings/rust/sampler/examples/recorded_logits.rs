//! Draws a token from each row of a file of f16 logits and prints the ids, 16 to a line:
//!
//!     recorded_logits logits.f16

use std::error::Error;
use std::{env, fs, process};

use sampler::{Array, Options, Rows, Sampler};

const NUM_COLS: usize = 2048;
const IDS_PER_LINE: usize = 16;

/// The token of each row.
fn draw_tokens(rows: &[u16]) -> Result<Vec<String>, sampler::Error> {
    let mut sampler =
        Sampler::new(Options { max_rows: 1, max_cols: NUM_COLS, ..Options::default() })?;
    let mut token_ids = [0; 1];
    let mut tokens = Vec::new();
    for (step, row) in rows.chunks_exact(NUM_COLS).enumerate() {
        let logits = Rows::logits(Array::f16(row), 1, NUM_COLS);
        sampler.top_k_top_p(&logits, 50, 0.95, 0.8, 1, step as u64, &mut token_ids)?;
        tokens.push(token_ids[0].to_string());
    }
    Ok(tokens)
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args_os().nth(1).unwrap_or_else(|| {
        eprintln!("usage: recorded_logits FILE");
        process::exit(2)
    });
    let bytes = fs::read(path)?;
    let rows: Vec<u16> =
        bytes.chunks_exact(2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]])).collect();
    for line in draw_tokens(&rows)?.chunks(IDS_PER_LINE) {
        println!("{}", line.join(" "));
    }
    Ok(())
}
