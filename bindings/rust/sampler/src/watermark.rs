//! A watermark of texts, as vLLM has it: Gumbel draws by a key and the tokens before.

use sampler_sys as sys;

use crate::views::to_c;
use crate::{error, Error};

/// What [`DrawMethod::Watermark`](crate::DrawMethod::Watermark) draws with, for
/// [`Random`](crate::Random).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatermarkNumbers {
    /// The seed.
    pub seed: u64,
    /// The offset.
    pub offset: u64,
    /// The stream.
    pub stream: u32,
}

/// The random numbers of the next draw after the last tokens of an output, at most 64, oldest first, -1
/// where it has fewer.
pub fn watermark_random(key: u64, context: &[i64]) -> Result<WatermarkNumbers, Error> {
    error::ensure_loaded()?;
    let (mut seed, mut offset, mut stream) = (0, 0, 0);
    // SAFETY: it reads the slice and writes three numbers.
    error::check(unsafe {
        sys::sampler_watermark_random(
            key,
            context.as_ptr(),
            to_c(context.len()),
            &mut seed,
            &mut offset,
            &mut stream,
        )
    })?;
    Ok(WatermarkNumbers { seed, offset, stream })
}

/// What [`watermark_detect`] found in a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WatermarkDetection {
    /// About 1 for each token scored without the watermark, more with it.
    pub score: f64,
    /// How many tokens were scored.
    pub num_scored: usize,
    /// The chance that a text without it scores as much.
    pub p_value: f64,
}

/// Looks for the watermark of a key in an output, by contexts of so many tokens. Tokens after a context
/// that stood there before count only with `keeps_repeated`.
pub fn watermark_detect(
    key: u64,
    token_ids: &[i64],
    context_length: usize,
    keeps_repeated: bool,
) -> Result<WatermarkDetection, Error> {
    error::ensure_loaded()?;
    let (mut score, mut num_scored, mut p_value) = (0.0, 0, 0.0);
    // SAFETY: it reads the slice and writes three numbers.
    error::check(unsafe {
        sys::sampler_watermark_detect(
            key,
            token_ids.as_ptr(),
            to_c(token_ids.len()),
            to_c(context_length),
            keeps_repeated.into(),
            &mut score,
            &mut num_scored,
            &mut p_value,
        )
    })?;
    Ok(WatermarkDetection { score, num_scored: num_scored as usize, p_value })
}
