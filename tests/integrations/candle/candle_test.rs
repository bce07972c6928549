//! integrations/candle against fake_candle, which stands for candle-core: its tokens are those of
//! `sampler_sample`, and have the probabilities of candle's `LogitsProcessor`.

use candle_core::{Device, Result, Tensor};
use sampler_candle::{LogitsProcessor, Sampling};
use sampler_sys as sys;

const NUM_COLS: usize = 40;
const NUM_DRAWS: usize = 20_000;

const SAMPLINGS: [Sampling; 6] = [
    Sampling::ArgMax,
    Sampling::All { temperature: 0.8 },
    Sampling::TopK { k: 12, temperature: 1.3 },
    Sampling::TopP { p: 0.6, temperature: 0.8 },
    Sampling::TopKThenTopP { k: 12, p: 0.4, temperature: 1.5 },
    Sampling::GumbelSoftmax { temperature: 1.3 },
];

/// No two of a row are equal.
fn logits_of(row: usize) -> Vec<f32> {
    (0..NUM_COLS).map(|i| ((i + 5 * row) * 37 % NUM_COLS) as f32 * 0.11 - 2.0).collect()
}

fn tensor(logits: &[f32]) -> Tensor {
    Tensor::new(logits, &Device::Cpu).unwrap()
}

/// The distribution of candle's rules, in f64.
fn exact(sampling: &Sampling, logits: &[f32], f: impl FnOnce(&mut [f32])) -> Vec<f64> {
    let (k, p, temperature) = match *sampling {
        Sampling::ArgMax => (1, f64::MAX, 1.0),
        Sampling::All { temperature } | Sampling::GumbelSoftmax { temperature } => {
            (NUM_COLS, f64::MAX, temperature)
        }
        Sampling::TopK { k, temperature } => (k, f64::MAX, temperature),
        Sampling::TopP { p, temperature } if p >= 1.0 => (NUM_COLS, f64::MAX, temperature),
        Sampling::TopP { p, temperature } => (NUM_COLS, p, temperature),
        Sampling::TopKThenTopP { k, p, temperature } => (k, p, temperature),
    };
    let weights: Vec<f64> = logits.iter().map(|&x| (f64::from(x) / temperature).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let mut prs: Vec<f32> = weights.iter().map(|w| (w / sum) as f32).collect();
    f(&mut prs);
    let mut order: Vec<usize> = (0..NUM_COLS).collect();
    order.sort_by(|&i, &j| prs[j].total_cmp(&prs[i]));
    let (mut kept, mut cumsum) = (vec![0.0; NUM_COLS], 0.0);
    for &i in &order[..k.min(NUM_COLS)] {
        if cumsum < p {
            kept[i] = f64::from(prs[i]);
        }
        cumsum += f64::from(prs[i]);
    }
    let sum: f64 = kept.iter().sum();
    kept.iter().map(|p| p / sum).collect()
}

/// Pearson's chi-square of the counts of tokens, all of which can be drawn; rare ones count as one
/// cell. The bound is what a true distribution exceeds once in 1e6 seeds (Wilson and Hilferty).
fn assert_fits(counts: &[usize], probabilities: &[f64], name: &str) {
    let total = counts.iter().sum::<usize>() as f64;
    let (mut chi_square, mut cells, mut rare) = (0.0, 0, (0.0, 0.0));
    let mut add = |got: f64, want: f64| {
        chi_square += (got - want) * (got - want) / want;
        cells += 1;
    };
    for (&count, &probability) in counts.iter().zip(probabilities) {
        let (got, want) = (count as f64, probability * total);
        if want >= 5.0 {
            add(got, want);
        } else {
            assert!(count == 0 || want > 0.0, "{name} draws what it must not");
            rare = (rare.0 + got, rare.1 + want);
        }
    }
    if rare.1 > 0.0 {
        add(rare.0, rare.1);
    }
    let df = f64::from(cells - 1);
    let part = 2.0 / (9.0 * df.max(1.0));
    let bound = if cells == 1 { 1e-9 } else { df * (1.0 - part + 4.753 * part.sqrt()).powi(3) };
    println!("{name}: chi-square {chi_square:.1} of {cells} cells, bound {bound:.1}");
    assert!(chi_square <= bound, "{name}: chi-square {chi_square} is above {bound}");
}

fn counts_of(mut draw: impl FnMut() -> Result<u32>, num_draws: usize) -> Vec<usize> {
    let mut counts = vec![0; NUM_COLS];
    for _ in 0..num_draws {
        counts[draw().unwrap() as usize] += 1;
    }
    counts
}

#[test]
fn has_the_probabilities_of_candle() {
    let logits = logits_of(0);
    let row = tensor(&logits);
    for sampling in &SAMPLINGS {
        let mut processor = LogitsProcessor::from_sampling(299_792_458, sampling.clone());
        let counts = counts_of(|| processor.sample(&row), NUM_DRAWS);
        assert_fits(&counts, &exact(sampling, &logits, |_| ()), &format!("{sampling:?}"));
    }
}

/// An edit after which the sum is not 1: candle compares p with the sum as it is.
#[test]
fn has_the_probabilities_that_an_edit_leaves() {
    let edit = |prs: &mut [f32]| {
        prs[0] = 0.0;
        prs.iter_mut().skip(1).step_by(3).for_each(|p| *p *= 0.5);
    };
    let logits = logits_of(1);
    let row = tensor(&logits);
    for sampling in &SAMPLINGS[1..5] {
        let mut processor = LogitsProcessor::from_sampling(7, sampling.clone());
        let counts = counts_of(|| processor.sample_f(&row, edit), NUM_DRAWS);
        assert_fits(&counts, &exact(sampling, &logits, edit), &format!("edited {sampling:?}"));
    }
    // A sum above 1: p of 1 and more cuts in one of them.
    let triple = |prs: &mut [f32]| prs.iter_mut().for_each(|p| *p *= 3.0);
    for sampling in [
        Sampling::TopP { p: 1.0, temperature: 0.8 },
        Sampling::TopKThenTopP { k: 12, p: 1.0, temperature: 0.8 },
        Sampling::TopKThenTopP { k: NUM_COLS, p: 1.7, temperature: 0.8 },
        Sampling::TopKThenTopP { k: 12, p: 4.0, temperature: 0.8 },
    ] {
        let mut processor = LogitsProcessor::from_sampling(7, sampling.clone());
        let counts = counts_of(|| processor.sample_f(&row, triple), NUM_DRAWS);
        assert_fits(&counts, &exact(&sampling, &logits, triple), &format!("tripled {sampling:?}"));
    }
    for sampling in [&SAMPLINGS[0], &SAMPLINGS[5]] {
        let mut processor = LogitsProcessor::from_sampling(7, sampling.clone());
        let mut unedited = LogitsProcessor::from_sampling(7, sampling.clone());
        let drawn = processor.sample_f(&row, |_| panic!("candle does not call it")).unwrap();
        assert_eq!(drawn, unedited.sample(&row).unwrap());
    }
}

/// The tokens of one call of the C library, whose rows are steps of several processors.
#[test]
fn draws_what_the_library_draws_in_a_batch() {
    const NUM_STEPS: usize = 8;
    const NUM_ROWS: usize = 4 * NUM_STEPS;
    let values: Vec<f32> = (0..NUM_ROWS).flat_map(logits_of).collect();
    let seeds: Vec<u64> = (0..NUM_ROWS).map(|row| 100 + (row / NUM_STEPS) as u64).collect();
    let offsets: Vec<u64> = (0..NUM_ROWS).map(|row| (row % NUM_STEPS) as u64).collect();
    for sampling in &SAMPLINGS {
        let mut params = sys::sampler_params {
            filter_order: sys::SAMPLER_FILTERS_JOINT,
            ..sys::sampler_params::INIT
        };
        match *sampling {
            Sampling::ArgMax => params.temperature = 0.0,
            Sampling::All { temperature } | Sampling::GumbelSoftmax { temperature } => {
                params.temperature = temperature as f32;
            }
            Sampling::TopK { k, temperature } => {
                params.temperature = temperature as f32;
                params.top_k = k as i32;
            }
            Sampling::TopP { p, temperature } => {
                params.temperature = temperature as f32;
                params.top_p = p as f32;
            }
            Sampling::TopKThenTopP { k, p, temperature } => {
                params.temperature = temperature as f32;
                params.top_k = k as i32;
                params.top_p = p as f32;
            }
        }
        let mut token_ids = [-7i32; NUM_ROWS];
        let args = sys::sampler_sample_args {
            input: sys::sampler_rows {
                values: values.as_ptr().cast(),
                num_rows: NUM_ROWS as i64,
                num_cols: NUM_COLS as i64,
                ..sys::sampler_rows::INIT
            },
            params: &params,
            random: sys::sampler_random {
                seeds: seeds.as_ptr(),
                offsets: offsets.as_ptr(),
                num_seeds: NUM_ROWS as i64,
                num_offsets: NUM_ROWS as i64,
                ..sys::sampler_random::INIT
            },
            draw_method: match sampling {
                Sampling::GumbelSoftmax { .. } => sys::SAMPLER_DRAW_GUMBEL,
                _ => sys::SAMPLER_DRAW_INVERSE_CDF,
            },
            out_token_ids: token_ids.as_mut_ptr().cast(),
            ..sys::sampler_sample_args::INIT
        };
        let options = sys::sampler_options {
            max_rows: NUM_ROWS as i64,
            max_cols: NUM_COLS as i64,
            ..sys::sampler_options::INIT
        };
        let mut sampler = std::ptr::null_mut();
        // SAFETY: the arrays have the lengths that are given, and outlive the calls.
        unsafe {
            assert_eq!(sys::sampler_create(&options, &mut sampler), sys::SAMPLER_OK);
            assert_eq!(sys::sampler_sample(sampler, &args), sys::SAMPLER_OK);
            sys::sampler_destroy(sampler);
        }
        for (first, seed) in (0..NUM_ROWS).step_by(NUM_STEPS).zip(100..) {
            let mut processor = LogitsProcessor::from_sampling(seed, sampling.clone());
            for (row, &token_id) in token_ids.iter().enumerate().skip(first).take(NUM_STEPS) {
                let drawn = processor.sample(&tensor(&logits_of(row))).unwrap();
                assert_eq!(drawn as i32, token_id, "{sampling:?}, row {row}");
            }
        }
    }
}

/// `new` chooses as candle's does.
#[test]
fn chooses_the_sampling_of_candle() {
    let logits = logits_of(2);
    let cases = [
        ((None, Some(0.5)), Sampling::ArgMax),
        ((Some(1e-8), Some(0.5)), Sampling::ArgMax),
        ((Some(0.8), None), Sampling::All { temperature: 0.8 }),
        ((Some(0.8), Some(0.5)), Sampling::TopP { p: 0.5, temperature: 0.8 }),
        ((Some(0.8), Some(0.0)), Sampling::All { temperature: 0.8 }),
        ((Some(0.8), Some(1.5)), Sampling::All { temperature: 0.8 }),
    ];
    for ((temperature, top_p), sampling) in cases {
        let mut processor = LogitsProcessor::new(3, temperature, top_p);
        let mut like = LogitsProcessor::from_sampling(3, sampling);
        for _ in 0..200 {
            let row = tensor(&logits);
            assert_eq!(processor.sample(&row).unwrap(), like.sample(&row).unwrap());
        }
    }
}

/// Longer rows, other types, and what has no token, which uses up no random number.
#[test]
fn takes_rows_and_tells_errors() {
    let all = Sampling::All { temperature: 1.0 };
    let mut processor = LogitsProcessor::from_sampling(5, all.clone());
    let mut like = LogitsProcessor::from_sampling(5, all);
    let message = |drawn: Result<u32>| drawn.unwrap_err().to_string();
    let long = vec![0.25f64; 3000];
    for _ in 0..20 {
        let row = logits_of(3);
        let bad = message(processor.sample(&tensor(&[1.0, f32::NAN])));
        assert!(bad.contains("INVALID_VALUE"), "{bad}");
        let bad = message(processor.sample_f(&tensor(&[1.0, f32::NAN]), |_| ()));
        assert!(bad.contains("INVALID_VALUE"), "{bad}");
        let bad = message(processor.sample_f(&tensor(&row), |prs| prs.fill(0.0)));
        assert!(bad.contains("EMPTY"), "{bad}");
        assert_eq!(processor.sample(&tensor(&row)).unwrap(), like.sample(&tensor(&row)).unwrap());
        let long = Tensor::new(long.as_slice(), &Device::Cpu).unwrap();
        assert_eq!(processor.sample(&long).unwrap(), like.sample(&long).unwrap());
    }
    assert!(message(processor.sample(&tensor(&[]))).contains("the row is empty"));
    let rows = Tensor::new(&[[1.0f32, 2.0]], &Device::Cpu).unwrap();
    assert!(message(processor.sample(&rows)).contains("rank"));
    let draw = |sampling| {
        let mut processor = LogitsProcessor::from_sampling(5, sampling);
        message(processor.sample(&tensor(&logits_of(0))))
    };
    assert!(draw(Sampling::TopK { k: 0, temperature: 1.0 }).contains("k is 0"));
    assert!(draw(Sampling::All { temperature: -1.0 }).contains("temperature is -1"));
    assert!(draw(Sampling::All { temperature: f64::NAN }).contains("temperature is NaN"));
    assert!(draw(Sampling::TopP { p: f64::NAN, temperature: 1.0 }).contains("top_p is NaN"));
}
