//! The `LogitsProcessor` of candle-transformers, whose tokens libsampler draws.
//!
//! Each has the distribution of candle's. Call number n (from 0) draws with offset n: logits,
//! sampling, seed and n give the token that `sampler_sample` draws of them, on any machine and in
//! any batch.

use candle_core::{DType, Error, Result, Tensor};
use sampler::{
    DrawMethod, FilterArgs, FilterOrder, Options, Params, Random, RowStatus, Rows, SampleArgs,
    Sampler,
};

/// How tokens are drawn; candle's, member for member.
#[derive(Clone, PartialEq, Debug)]
pub enum Sampling {
    /// The first token of the largest logit.
    ArgMax,
    /// From the whole row.
    All { temperature: f64 },
    /// From the k likeliest tokens.
    TopK { k: usize, temperature: f64 },
    /// From the likeliest tokens whose probability reaches p.
    TopP { p: f64, temperature: f64 },
    /// From the tokens that both keep, each of the whole row.
    TopKThenTopP { k: usize, p: f64, temperature: f64 },
    /// From the whole row, by Gumbel noise.
    GumbelSoftmax { temperature: f64 },
}

/// Draws a token in each call.
pub struct LogitsProcessor {
    sampling: Sampling,
    seed: u64,
    offset: u64,
    /// Made by the first call, for rows of up to this many logits.
    sampler: Option<(Sampler, usize)>,
}

impl LogitsProcessor {
    pub fn from_sampling(seed: u64, sampling: Sampling) -> Self {
        Self { sampling, seed, offset: 0, sampler: None }
    }

    pub fn new(seed: u64, temperature: Option<f64>, top_p: Option<f64>) -> Self {
        let sampling = match (temperature, top_p) {
            (None, _) => Sampling::ArgMax,
            (Some(temperature), _) if temperature < 1e-7 => Sampling::ArgMax,
            (Some(temperature), None) => Sampling::All { temperature },
            (Some(temperature), Some(p)) => Sampling::TopP { p, temperature },
        };
        Self::from_sampling(seed, sampling)
    }

    /// The token of a row of logits, of one dimension. An error if the row has none.
    pub fn sample(&mut self, logits: &Tensor) -> Result<u32> {
        let logits = logits.to_dtype(DType::F32)?.to_vec1::<f32>()?;
        let params = self.params(logits.len())?;
        self.draw(Rows::logits(&logits, 1, logits.len()), params)
    }

    /// The same, after `f` has edited the probabilities. As in candle they need not sum to 1, top-p
    /// compares p with them as they are, and `f` is not called with `ArgMax` and `GumbelSoftmax`.
    pub fn sample_f(&mut self, logits: &Tensor, f: impl FnOnce(&mut [f32])) -> Result<u32> {
        if matches!(self.sampling, Sampling::ArgMax | Sampling::GumbelSoftmax { .. }) {
            return self.sample(logits);
        }
        let logits = logits.to_dtype(DType::F32)?.to_vec1::<f32>()?;
        let mut params = self.params(logits.len())?;
        let (mut prs, mut status) = (vec![0.0f32; logits.len()], [RowStatus::OK]);
        self.sampler(logits.len())?
            .filter(&FilterArgs {
                input: Rows::logits(&logits, 1, logits.len()),
                params: Params { temperature: params.temperature, ..Params::default() },
                output: (&mut prs).into(),
                out_row_status: (&mut status).into(),
                ..FilterArgs::default()
            })
            .map_err(Error::wrap)?;
        check(status[0])?;
        f(&mut prs);
        let sum: f64 = prs.iter().copied().map(f64::from).sum();
        let cuts = match self.sampling {
            Sampling::TopKThenTopP { p, .. } => p > 0.0, // candle's cuts with a p of 1 or more, too
            _ => params.top_p < 1.0,
        };
        if cuts && sum > 0.0 {
            params.top_p = (f64::from(params.top_p) / sum).min(1.0) as f32; // a share
        }
        params.temperature = 1.0;
        self.draw(Rows::probabilities(&prs, 1, prs.len()), params)
    }

    fn params(&self, num_cols: usize) -> Result<Params> {
        let (k, p, temperature) = match self.sampling {
            Sampling::ArgMax => (num_cols, 1.0, 0.0),
            Sampling::GumbelSoftmax { temperature } if temperature < 0.0 => (num_cols, 1.0, 0.0),
            Sampling::GumbelSoftmax { temperature } => (num_cols, 1.0, temperature),
            Sampling::All { temperature } => (num_cols, 1.0, temperature),
            Sampling::TopK { k, temperature } => (k, 1.0, temperature),
            Sampling::TopP { p, temperature } => (num_cols, p, temperature),
            Sampling::TopKThenTopP { k, p, temperature } => (k, p, temperature),
        };
        if num_cols == 0 {
            return Err(Error::Msg("the row is empty".into()));
        }
        if k == 0 {
            return Err(Error::Msg("k is 0; it must be positive".into()));
        }
        if temperature < 0.0 {
            return Err(Error::Msg(format!("temperature is {temperature}; it must be 0 or more")));
        }
        Ok(Params {
            temperature: temperature as f32,
            top_k: k.min(num_cols) as i32,
            top_p: if p <= 0.0 { 1.0 } else { p as f32 },
            filter_order: FilterOrder::Joint, // top-p sees the row, not what top-k has kept of it
            ..Params::default()
        })
    }

    fn draw(&mut self, input: Rows<'_>, params: Params) -> Result<u32> {
        let (mut token_id, mut status) = ([-1i32], [RowStatus::OK]);
        let draw_method = match self.sampling {
            Sampling::GumbelSoftmax { .. } => DrawMethod::Gumbel,
            _ => DrawMethod::InverseCdf,
        };
        let random = Random::new(self.seed, self.offset);
        self.sampler(input.num_cols)?
            .sample(&SampleArgs {
                input,
                params,
                random,
                draw_method,
                out_token_ids: (&mut token_id).into(),
                out_row_status: (&mut status).into(),
                ..SampleArgs::default()
            })
            .map_err(Error::wrap)?;
        check(status[0])?;
        self.offset += 1;
        Ok(token_id[0] as u32)
    }

    /// One with a workspace for such a row.
    fn sampler(&mut self, num_cols: usize) -> Result<&mut Sampler> {
        if !matches!(&self.sampler, Some((_, max_cols)) if *max_cols >= num_cols) {
            let options = Options { max_rows: 1, max_cols: num_cols, ..Options::default() };
            self.sampler = Some((Sampler::new(options).map_err(Error::wrap)?, num_cols));
        }
        Ok(&mut self.sampler.as_mut().expect("made above").0)
    }
}

fn check(status: RowStatus) -> Result<()> {
    match status.is_ok() {
        true => Ok(()),
        false => Err(Error::Msg(format!("the row has no token: {status:?}"))),
    }
}
