//! Watermarks of texts. vLLM's: Gumbel draws by a key and the tokens before. Hugging Face's: green
//! lists and tournaments.

use sampler_sys as sys;

use crate::check::invalid_argument;
use crate::views::to_c;
use crate::{error, Error, WatermarkScheme};

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

/// What [`watermark_detect`] or [`watermark_score`] found in a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WatermarkDetection {
    /// About 1 for each token scored without the watermark, more with it. Green lists: by how many
    /// standard deviations there are more green tokens than by chance; of tournaments: the mean of
    /// the bits, 1/2 without the watermark.
    pub score: f64,
    /// How many tokens were scored.
    pub num_scored: usize,
    /// The chance that a text without it scores as much.
    pub p_value: f64,
}

/// Looks for the watermark of a key in an output, by contexts of `context_length` tokens. Tokens
/// after a context that stood there before count only with `keeps_repeated`.
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

/// Hugging Face's schemes: green lists (Kirchenbauer et al. 2023) and tournaments (SynthID-Text,
/// Dathathri et al. 2024). A text that is marked by transformers, on the CPU, is found here, and the
/// other way round.
#[derive(Clone, Copy, Debug, Default)]
pub struct WatermarkParams<'a> {
    /// What marks a text.
    pub scheme: WatermarkScheme,
    /// Tokens that a token's hash depends on besides it, in [1, 64]: transformers' `context_width`, of
    /// `Selfhash` less 1, so that it may be 0; of `Tournament` `ngram_len` - 1.
    pub context_length: usize,
    /// Token ids lie in [0, `vocabulary_size`). In [2, 2^20).
    pub vocabulary_size: usize,
    /// Green lists: transformers' `hashing_key`, 15485863 there. `Tournament`: 0.
    pub key: i64,
    /// The share of green tokens, transformers' `greenlist_ratio`, in (0, 1), 0.25 there.
    /// `Tournament`: 0.
    pub green_share: f64,
    /// Added to the logits of green tokens, finite: 2 in transformers. `Tournament`: 0.
    pub bias: f32,
    /// For [`watermark_score`]: tokens count whose context (of green lists with the token) came
    /// before. Else only the first of them.
    pub keeps_repeated: bool,
    /// `Tournament`: a key for each layer, 1 to 64. Green lists: none.
    pub keys: &'a [i64],
    /// `[table_size]` What [`watermark_table`] gave, for `Selfhash` and `Tournament`. `Lefthash`:
    /// none.
    pub table: &'a [i32],
    /// In [1, 2^24]. 0: 1000003 of `Selfhash`, 65536 of `Tournament`, as in transformers.
    pub table_size: usize,
    /// Seed of the table of `Tournament`, transformers' `sampling_table_seed`. Else 0.
    pub table_seed: u64,
}

const MAX_CONTEXT: usize = 64;
const MAX_VOCABULARY: usize = 1 << 20;
const MAX_TABLE: usize = 1 << 24;

/// Whether a list is as long as it must be. The library refuses lengths above `most`, and reads nothing
/// then.
fn check_length(name: &str, length: usize, needed: usize, most: usize) -> Result<(), Error> {
    if length == needed || needed > most {
        return Ok(());
    }
    Err(invalid_argument(format!("{name} has {length} elements; it must have {needed}")))
}

impl WatermarkParams<'_> {
    /// Elements of the table. What a scheme of a newer library reads and writes is not known here.
    fn table_length(&self) -> Result<usize, Error> {
        Ok(match (self.scheme, self.table_size) {
            (WatermarkScheme::Unknown(_), _) => {
                return Err(invalid_argument(format!(
                    "params->scheme is {}; it must be one of its constants, 0 to 2",
                    self.scheme.raw()
                )))
            }
            (WatermarkScheme::Lefthash, _) => 0,
            (WatermarkScheme::Selfhash, 0) => 1000003,
            (WatermarkScheme::Tournament, 0) => 65536,
            (_, size) => size,
        })
    }

    fn check_context(&self, context: &[i64]) -> Result<(), Error> {
        check_length("context", context.len(), self.context_length, MAX_CONTEXT)
    }

    /// For C, where the table is not read.
    fn raw(&self) -> sys::sampler_watermark_params {
        sys::sampler_watermark_params {
            scheme: self.scheme.raw(),
            context_length: i32::try_from(self.context_length).unwrap_or(i32::MAX),
            vocabulary_size: to_c(self.vocabulary_size),
            key: self.key,
            green_share: self.green_share,
            bias: self.bias,
            keeps_repeated: self.keeps_repeated.into(),
            keys: self.keys.as_ptr(),
            num_keys: to_c(self.keys.len()),
            table: self.table.as_ptr(),
            table_size: to_c(self.table_size),
            table_seed: self.table_seed,
            ..sys::sampler_watermark_params::INIT
        }
    }

    /// For C, where the table is read.
    fn raw_with_table(&self) -> Result<sys::sampler_watermark_params, Error> {
        check_length("params->table", self.table.len(), self.table_length()?, MAX_TABLE)?;
        Ok(self.raw())
    }
}

/// The table of a scheme, for [`WatermarkParams::table`] of any number of calls. That of `Selfhash` takes
/// some 10 ms.
pub fn watermark_table(params: &WatermarkParams) -> Result<Vec<i32>, Error> {
    error::ensure_loaded()?;
    let mut table = vec![0; params.table_length()?.min(MAX_TABLE)];
    // SAFETY: it reads the params and the keys, and writes a table of at most MAX_TABLE elements.
    error::check(unsafe { sys::sampler_watermark_table(&params.raw(), table.as_mut_ptr()) })?;
    Ok(table)
}

/// The biases of green lists after the `context_length` last tokens, the prompt's too, oldest first:
/// `bias` for green tokens, 0 for the others. They are for a [`Pipeline`](crate::Pipeline).
///
/// `Lefthash`: a number for each token of the vocabulary, as of `dense_bias`, and no candidates.
/// `Selfhash`: a number for each candidate. transformers takes the 40 likeliest tokens; each takes about
/// 0.15 ms.
pub fn watermark_bias(
    params: &WatermarkParams,
    context: &[i64],
    candidate_token_ids: &[i32],
) -> Result<Vec<f32>, Error> {
    error::ensure_loaded()?;
    params.check_context(context)?;
    let length = match params.scheme {
        WatermarkScheme::Lefthash => params.vocabulary_size.min(MAX_VOCABULARY),
        _ => candidate_token_ids.len(),
    };
    let mut biases = vec![0.0; length];
    // SAFETY: it reads the params, the keys, the table and two slices, whose lengths were checked, and
    // writes a number for each token or candidate.
    error::check(unsafe {
        sys::sampler_watermark_bias(
            &params.raw_with_table()?,
            context.as_ptr(),
            candidate_token_ids.as_ptr(),
            to_c(candidate_token_ids.len()),
            biases.as_mut_ptr(),
        )
    })?;
    Ok(biases)
}

/// Changes the probabilities of tokens, those that the filters keep, into those to draw by, with the
/// same sum: rows of [`InputKind::Probabilities`](crate::InputKind::Probabilities) with candidates,
/// drawn without filters. The context is the `context_length` last tokens of the output, oldest first,
/// and 0 where it has fewer.
///
/// After a context that came before in the output transformers leaves the distribution as it is: do not
/// call it then.
pub fn watermark_tournament(
    params: &WatermarkParams,
    context: &[i64],
    token_ids: &[i32],
    probabilities: &mut [f32],
) -> Result<(), Error> {
    error::ensure_loaded()?;
    params.check_context(context)?;
    check_length("probabilities", probabilities.len(), token_ids.len(), usize::MAX)?;
    // SAFETY: it reads the params, the keys, the table and two slices, and changes the probabilities. The
    // lengths were checked.
    error::check(unsafe {
        sys::sampler_watermark_tournament(
            &params.raw_with_table()?,
            context.as_ptr(),
            token_ids.as_ptr(),
            to_c(token_ids.len()),
            probabilities.as_mut_ptr(),
        )
    })
}

/// Looks for the watermark of a scheme in an output. Tokens with fewer than `context_length` tokens
/// before them are not scored. If no token is scored, the score is 0 (1/2 for `Tournament`) and the
/// p-value 1.
pub fn watermark_score(
    params: &WatermarkParams,
    token_ids: &[i64],
) -> Result<WatermarkDetection, Error> {
    error::ensure_loaded()?;
    let (mut score, mut num_scored, mut p_value) = (0.0, 0, 0.0);
    // SAFETY: it reads the params, the keys, the table, whose length was checked, and the slice, and
    // writes three numbers.
    error::check(unsafe {
        sys::sampler_watermark_score(
            &params.raw_with_table()?,
            token_ids.as_ptr(),
            to_c(token_ids.len()),
            &mut score,
            &mut num_scored,
            &mut p_value,
        )
    })?;
    Ok(WatermarkDetection { score, num_scored: num_scored as usize, p_value })
}
