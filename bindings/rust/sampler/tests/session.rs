//! Sessions beside draws of the full call.

use std::sync::atomic::{AtomicI64, Ordering};

use sampler::*;

const COLS: usize = 23;

/// The logits that follow a text: a function of its last two tokens. Another one for each model.
fn logits_after(text: &[i32], model: u64) -> Vec<f32> {
    let mut state =
        text.iter().rev().take(2).fold(77, |state: u64, &token| {
            (state ^ token as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        });
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 22) as f32
    };
    let row: Vec<f32> = (0..COLS).map(|_| next()).collect();
    row.iter().enumerate().map(|(i, x)| x + model as f32 * (i % 2) as f32 / 4.0).collect()
}

fn sampler() -> Sampler {
    Sampler::new(Options { max_rows: 8, max_cols: COLS, ..Options::default() }).unwrap()
}

struct Drawn {
    text: Vec<i32>,
    logprobs: Vec<f32>,
    top: Vec<i32>,
}

/// Token after token by the full call.
fn drawn_alone(prompt: &[i32], count: usize, seed: u64, params: Params) -> Drawn {
    let mut sampler = sampler();
    let mut drawn = Drawn { text: prompt.to_vec(), logprobs: vec![], top: vec![] };
    for offset in 0..count as u64 {
        let row = logits_after(&drawn.text, 0);
        let (mut ids, mut logprobs, mut top) = ([0i32; 1], [0.0; 1], [0i32; 2]);
        let mut top_logprobs = [0.0; 2];
        let mut args = SampleArgs {
            input: Rows::logits(&row, 1, COLS),
            params,
            random: Random::new(seed, offset),
            out_token_ids: (&mut ids).into(),
            reports: ReportArgs {
                out_logprobs: (&mut logprobs).into(),
                logprob_kind: LogprobKind::Processed,
                num_top_logprobs: 2,
                out_top_token_ids: (&mut top).into(),
                out_top_logprobs: (&mut top_logprobs).into(),
                ..ReportArgs::default()
            },
            ..SampleArgs::default()
        };
        let mut workspace = vec![0u8; sampler.sample_workspace_size(&args).unwrap()];
        args.exec.workspace = (&mut workspace).into();
        sampler.sample(&args).unwrap();
        drawn.text.push(ids[0]);
        drawn.logprobs.push(logprobs[0]);
        drawn.top.extend(top);
    }
    drawn
}

/// What the caller of a session has: models with caches.
struct Caller {
    max_drafts: usize,
    plan: Plan,
    caches: [Vec<Vec<i32>>; 2],
    logprobs: Vec<Vec<f32>>,
    top: Vec<Vec<i32>>,
}

impl Caller {
    fn new(max_sequences: usize, max_drafts: usize) -> Self {
        let none = vec![vec![]; max_sequences];
        Caller {
            max_drafts,
            plan: Plan::default(),
            caches: [none.clone(), none],
            logprobs: vec![vec![]; max_sequences],
            top: vec![vec![]; max_sequences],
        }
    }

    fn run_model(&mut self, model: usize) -> Vec<f32> {
        let (spans, mut tokens) = match model {
            0 => (self.plan.spans(), self.plan.token_ids()),
            _ => (self.plan.drafter_spans(), self.plan.drafter_token_ids()),
        };
        let mut logits = vec![];
        for (number, span) in spans.iter().enumerate() {
            let cache = &mut self.caches[model][span.sequence() as usize];
            cache.truncate(span.start());
            assert_eq!(cache.len(), span.start());
            let (own, others) = tokens.split_at(span.num_tokens());
            tokens = others;
            let first_draft = own.len() + 1 - span.num_logits();
            for (i, &token) in own.iter().enumerate() {
                cache.push(token);
                let mut seen = cache.clone();
                if model == 0 && i >= first_draft && !self.plan.parents().is_empty() {
                    let parents = &self.plan.parents()[number * self.max_drafts..];
                    let drafts = &own[first_draft..];
                    seen.truncate(cache.len() - 1 - (i - first_draft));
                    let (mut path, mut draft) = (vec![], (i - first_draft) as i32);
                    while draft >= 0 {
                        path.push(drafts[draft as usize]);
                        draft = parents[draft as usize];
                    }
                    seen.extend(path.iter().rev());
                }
                if i + span.num_logits() >= own.len() {
                    logits.extend(logits_after(&seen, model as u64));
                }
            }
        }
        assert!(tokens.is_empty());
        logits
    }

    /// A step; gives how many new tokens it gave, and to whom.
    fn step(&mut self, session: &mut Session, max_tokens: usize) -> Vec<(i32, usize)> {
        let args = PlanArgs { max_tokens, ..PlanArgs::default() };
        session.plan(&args, &mut self.plan).unwrap();
        assert!(max_tokens == 0 || self.plan.token_ids().len() <= max_tokens);
        let (logits, drafter_logits) = (self.run_model(0), self.run_model(1));
        let spans = self.plan.spans();
        let places = spans.len() * (self.max_drafts + 1);
        let (mut ids, mut counts) = (vec![-7; places], vec![-7i64; spans.len()]);
        let (mut lengths, mut drafter_lengths) = (counts.clone(), counts.clone());
        let mut accepted = counts.clone();
        let (mut logprobs, mut top_logprobs) = (vec![0.0; places], vec![0.0; 2 * places]);
        let (mut reasons, mut status) =
            (vec![-7; spans.len()], vec![RowStatus::from(77); spans.len()]);
        let mut top = vec![-7; 2 * places];
        session
            .advance(&AdvanceArgs {
                spans,
                logits: (&logits).into(),
                drafter_spans: self.plan.drafter_spans(),
                drafter_logits: (&drafter_logits).into(),
                out_token_ids: (&mut ids).into(),
                out_counts: (&mut counts).into(),
                out_finish_reasons: (&mut reasons).into(),
                out_cache_lengths: (&mut lengths).into(),
                out_drafter_cache_lengths: (&mut drafter_lengths).into(),
                out_accepted_counts: (&mut accepted).into(),
                out_row_status: (&mut status).into(),
                reports: ReportArgs {
                    out_logprobs: (&mut logprobs).into(),
                    logprob_kind: LogprobKind::Processed,
                    num_top_logprobs: 2,
                    out_top_token_ids: (&mut top).into(),
                    out_top_logprobs: (&mut top_logprobs).into(),
                    ..ReportArgs::default()
                },
                ..AdvanceArgs::default()
            })
            .unwrap();
        let mut given = vec![];
        for (i, span) in spans.iter().enumerate() {
            let (sequence, count) = (span.sequence() as usize, counts[i] as usize);
            let known = session.get(span.sequence()).unwrap();
            let first = i * (self.max_drafts + 1);
            assert_eq!(status[i], RowStatus::OK);
            assert_eq!(FinishReason::from(reasons[i]), known.finish_reason);
            assert_eq!(ids[first..first + count], known.token_ids[known.token_ids.len() - count..]);
            assert_eq!(lengths[i] as usize, known.cache_length);
            assert_eq!(drafter_lengths[i] as usize, known.drafter_cache_length);
            assert_eq!(accepted[i] as usize, count.saturating_sub(1));
            self.caches[0][sequence].truncate(known.cache_length);
            self.caches[1][sequence].truncate(known.drafter_cache_length);
            self.logprobs[sequence].extend(&logprobs[first..first + count]);
            self.top[sequence].extend(&top[2 * first..2 * (first + count)]);
            given.push((span.sequence(), count));
        }
        given
    }

    fn run(&mut self, session: &mut Session, max_tokens: usize) -> usize {
        let mut steps = 0;
        while {
            self.step(session, max_tokens);
            !self.plan.spans().is_empty() || !self.plan.drafter_spans().is_empty()
        } {
            steps += 1;
        }
        steps
    }
}

fn options() -> SessionOptions<'static> {
    SessionOptions {
        max_sequences: 4,
        max_context: 60,
        vocabulary_size: COLS,
        max_drafts: 3,
        lookup_tokens: 60,
        max_end_tokens: 1,
        max_stop_sequences: 2,
        max_stop_tokens: 4,
        max_top_logprobs: 2,
        ..SessionOptions::default()
    }
}

#[test]
fn texts_are_those_drawn_alone() {
    for max_tokens in [0, 5] {
        let mut session = Session::new(sampler(), &options()).unwrap();
        let mut caller = Caller::new(4, 3);
        let cold = Params { temperature: 0.5, top_k: 5, ..Params::default() };
        let sources = [DraftSource::None, DraftSource::Model, DraftSource::PromptLookup];
        let mut wanted = vec![];
        for (i, &draft_source) in sources.iter().enumerate() {
            let prompt = [1, 2, 3, 1, 2, 3, i as i32];
            let (seed, params) = (40 + i as u64, (i > 0).then_some(cold));
            let add = AddArgs {
                token_ids: &prompt,
                params,
                seed,
                max_new_tokens: 20 + i,
                draft_source,
                ..AddArgs::default()
            };
            assert_eq!(session.add(&add).unwrap(), i as i32);
            wanted.push(drawn_alone(&prompt, 20 + i, seed, params.unwrap_or_default()));
            caller.step(&mut session, max_tokens); // the next one joins
        }
        caller.run(&mut session, max_tokens);
        for (i, wanted) in wanted.iter().enumerate() {
            let found = session.get(i as i32).unwrap();
            assert_eq!(found.token_ids, wanted.text, "of {:?}", sources[i]);
            assert_eq!((found.prompt_length, found.finish_reason), (7, FinishReason::Length));
            assert_eq!(found.num_drafted > 0, i > 0, "of {:?}", sources[i]);
            assert_eq!(caller.logprobs[i], wanted.logprobs);
            assert_eq!(caller.top[i], wanted.top);
        }
        assert!(session.get(1).unwrap().num_accepted > 0);
        let mut sampler = session.into_sampler();
        let mut ids = [0i32; 1];
        sampler.argmax(&Rows::logits(&[0.0f32, 1.0], 1, 2), &mut ids).unwrap();
        assert_eq!(ids, [1]);
    }
}

#[test]
fn drafts_come_from_n_grams() {
    let params = Params { temperature: 0.1, ..Params::default() };
    let wanted = drawn_alone(&[1, 2, 3], 40, 7, params);
    let storage = NgramStorage::new(NgramStorageOptions {
        vocabulary_size: COLS,
        ..NgramStorageOptions::default()
    })
    .unwrap();
    storage.initialize(&wanted.text).unwrap();
    let ngram = storage.clone();
    drop(storage);
    let mut session = Session::new(sampler(), &options()).unwrap();
    let mut caller = Caller::new(4, 3);
    let add = AddArgs {
        token_ids: &[1, 2, 3],
        params: Some(params),
        seed: 7,
        max_new_tokens: 40,
        draft_source: DraftSource::Ngram,
        ngram: Some(&ngram),
        ..AddArgs::default()
    };
    session.add(&add).unwrap();
    session.add(&AddArgs { ngram_least_count: 1 << 30, ..add }).unwrap();
    session.add(&AddArgs { draft_unknown: true, ..add }).unwrap();
    let error = session.add(&AddArgs { ngram_least_share: 2.0, ..add }).unwrap_err();
    assert!(error.message.contains("ngram_least_share"), "{error}");
    drop(ngram); // the session holds it
    caller.run(&mut session, 0);
    for sequence in 0..3 {
        let found = session.get(sequence).unwrap();
        assert_eq!(found.token_ids, wanted.text);
        assert_eq!(found.num_drafted == 0, sequence == 1);
        assert!(sequence != 0 || found.num_accepted > 20);
    }
    drop(session.into_sampler());
}

#[test]
fn numbers_of_drafts_adapt() {
    static TICKS: AtomicI64 = AtomicI64::new(0);
    fn clock() -> i64 {
        TICKS.fetch_add(1_000_000, Ordering::Relaxed)
    }
    let options = SessionOptions { has_adaptive_gamma: true, clock: Some(clock), ..options() };
    let wanted = drawn_alone(&[4, 5], 30, 3, Params::default());
    let mut drafted = vec![];
    for adaptive_gamma in [GammaRule::Fixed, GammaRule::ByEntropy, GammaRule::Measured] {
        let mut session = Session::new(sampler(), &options).unwrap();
        let by_entropy = adaptive_gamma == GammaRule::ByEntropy;
        let add = AddArgs {
            token_ids: &[4, 5],
            seed: 3,
            max_new_tokens: 30,
            draft_source: DraftSource::Model,
            adaptive_gamma,
            ema_beta: if by_entropy { 0.5 } else { 0.0 },
            gamma_min: by_entropy.into(),
            ..AddArgs::default()
        };
        session.add(&add).unwrap();
        assert!(session.add(&AddArgs { ema_beta: 1.0, ..add }).is_err());
        assert!(session.add(&AddArgs { gamma_min: 4, ..add }).is_err());
        Caller::new(4, 3).run(&mut session, 0);
        let found = session.get(0).unwrap();
        assert_eq!(found.token_ids, wanted.text, "{adaptive_gamma}");
        drafted.push(found.num_drafted);
        let is_measured = adaptive_gamma == GammaRule::Measured;
        assert_eq!(TICKS.load(Ordering::Relaxed) > 0, is_measured);
    }
    assert!(drafted[1] < drafted[0], "{drafted:?}");
}

#[test]
fn rules_of_acceptance_and_trees() {
    let params = Params { temperature: 0.5, ..Params::default() };
    let wanted = drawn_alone(&[4, 5], 30, 3, params);
    let rates = [1.0f32; 3];
    let options = SessionOptions {
        keep_drafter_rows: true,
        has_draft_trees: true,
        acceptance: AcceptanceParams {
            synthetic_rates: (&rates).into(),
            ..AcceptanceParams::default()
        },
        ..options()
    };
    let mut accepted = vec![];
    for rule in 0..9 {
        let acceptance = Acceptance::from(rule);
        for draft_top_k in [0, 2] {
            let rules = [Acceptance::Block, Acceptance::Deferred];
            if draft_top_k > 0 && rules.contains(&acceptance) {
                continue;
            }
            let mut session = Session::new(sampler(), &options).unwrap();
            let mut caller = Caller::new(4, 3);
            session
                .add(&AddArgs {
                    token_ids: &[4, 5],
                    params: Some(params),
                    seed: 3,
                    max_new_tokens: 30,
                    draft_source: DraftSource::Model,
                    acceptance,
                    draft_top_k,
                    ..AddArgs::default()
                })
                .unwrap();
            let mut is_tree = false;
            while {
                caller.step(&mut session, 0);
                !caller.plan.spans().is_empty() || !caller.plan.drafter_spans().is_empty()
            } {
                let (spans, parents) = (caller.plan.spans(), caller.plan.parents());
                assert_eq!(parents.len(), spans.len() * 3);
                is_tree |= spans.iter().any(|span| span.num_logits() > 2) && parents[1] == -1;
            }
            let found = session.get(0).unwrap();
            assert!(found.num_drafted > 0, "{acceptance}");
            assert_eq!((found.token_ids.len(), is_tree), (32, draft_top_k > 0), "{acceptance}");
            if [Acceptance::Default, Acceptance::SampleMatch].contains(&acceptance) {
                assert_eq!(found.token_ids, wanted.text, "{draft_top_k}");
            }
            if draft_top_k == 0 {
                accepted.push(found.num_accepted);
            }
        }
    }
    assert!(accepted[8] > accepted[1], "{accepted:?}"); // rates of 1 take every draft

    // A draft of less than probability 1 is the last of its step.
    let mut session = Session::new(sampler(), &options).unwrap();
    let add = AddArgs {
        token_ids: &[4, 5],
        draft_source: DraftSource::Model,
        least_draft_probability: 1.0,
        ..AddArgs::default()
    };
    session.add(&add).unwrap();
    Caller::new(4, 3).run(&mut session, 0);
    let found = session.get(0).unwrap();
    assert!(found.num_drafted > 0 && found.num_drafted <= found.num_steps);

    let mut short = options;
    short.acceptance.synthetic_rates = (&rates[..1]).into();
    let error = Session::size(&mut sampler(), &short).unwrap_err();
    assert_eq!(error.message, "acceptance.synthetic_rates has 1 elements; acceptance needs 3");
}

#[test]
fn drafts_are_verified_by_the_drafters_rows() {
    let options = SessionOptions { keep_drafter_rows: true, ..options() };
    let mut session = Session::new(sampler(), &options).unwrap();
    let mut caller = Caller::new(4, 3);
    for seed in 0..4 {
        let add = AddArgs {
            token_ids: &[4, 5],
            seed,
            draft_source: DraftSource::Model,
            acceptance: Acceptance::Standard,
            num_drafts: 2,
            ..AddArgs::default()
        };
        session.add(&add).unwrap();
    }
    caller.run(&mut session, 0);
    let mut accepted = 0;
    for sequence in 0..4 {
        let found = session.get(sequence).unwrap();
        assert_eq!((found.token_ids.len(), found.finish_reason), (60, FinishReason::Context));
        assert!(found.num_drafted <= 2 * found.num_steps && found.is_drafting);
        accepted += found.num_accepted;
    }
    assert!(accepted > 20, "{accepted}");
    let mut session = Session::new(sampler(), &self::options()).unwrap();
    let add = AddArgs {
        token_ids: &[4],
        draft_source: DraftSource::Model,
        acceptance: Acceptance::Standard,
        ..AddArgs::default()
    };
    assert!(session.add(&add).unwrap_err().message.contains("keep_drafter_rows"));
}

#[test]
fn a_text_goes_on_where_its_caches_end() {
    let mut session = Session::new(sampler(), &options()).unwrap();
    let whole = drawn_alone(&[4, 5], 9, 3, Params::default()).text;
    let add = AddArgs {
        token_ids: &whole[..5],
        prompt_length: 2,
        cache_length: 1,
        drafter_cache_length: 3,
        seed: 3,
        max_new_tokens: 9,
        draft_source: DraftSource::PromptLookup,
        num_drafts: 2,
        min_match: 50, // nothing is as long
        ..AddArgs::default()
    };
    let sequence = session.add(&add).unwrap();
    let known = session.get(sequence).unwrap();
    assert_eq!((known.token_ids, known.prompt_length), (&whole[..5], 2));
    assert_eq!((known.cache_length, known.drafter_cache_length), (1, 3));
    let mut caller = Caller::new(4, 3);
    caller.caches[0][sequence as usize] = whole[..1].to_vec();
    caller.run(&mut session, 0);
    let found = session.get(sequence).unwrap();
    assert_eq!((found.token_ids, found.num_drafted), (&whole[..], 0));
}

#[test]
fn a_text_goes_on_as_it_would_have() {
    let params = Params {
        adaptive_kind: AdaptiveKind::MirostatV2,
        adaptive_target: 2.0,
        adaptive_rate: 0.4,
        ..Params::default()
    };
    let (token_ids, params) = (&[4, 5][..], Some(params));
    let add = AddArgs { token_ids, params, seed: 3, max_new_tokens: 30, ..AddArgs::default() };
    let mut session = Session::new(sampler(), &options()).unwrap();
    let mut caller = Caller::new(4, 3);
    let (stays, goes) = (session.add(&add).unwrap(), session.add(&add).unwrap());
    for _ in 0..6 {
        caller.step(&mut session, 0);
    }
    let before = session.get(goes).unwrap();
    let (text, resumed) = (before.token_ids.to_vec(), before.resumed);
    session.remove(goes).unwrap();
    let add = AddArgs { token_ids: &text, prompt_length: 2, ..add };
    let anew = session.add(&add).unwrap();
    let again = session.add(&AddArgs { resumed: Some(resumed), ..add }).unwrap();
    caller.run(&mut session, 0);
    let whole = session.get(stays).unwrap().token_ids;
    let found = session.get(again).unwrap();
    assert_eq!((found.token_ids, found.num_steps), (whole, 30));
    assert_ne!(session.get(anew).unwrap().token_ids, whole);

    let resumed = Resumed {
        adaptive_values: [1.0, 2.0, 3.0, 4.0],
        drafter_entropy: 1.25,
        num_steps: 7,
        num_drafted: 6,
        num_accepted: 5,
    };
    let known = session.add(&AddArgs { resumed: Some(resumed), ..add }).unwrap();
    assert_eq!(session.get(known).unwrap().resumed, resumed);
    session.remove(known).unwrap();
    let error = session.add(&AddArgs { ngram_has_text: true, ..add }).unwrap_err();
    assert!(error.message.contains("ngram_has_text is 1"), "{error}");
}

#[test]
fn texts_end_at_end_tokens_and_stop_sequences() {
    let whole = drawn_alone(&[4], 30, 9, Params::default()).text;
    let mut session = Session::new(sampler(), &options()).unwrap();
    let stop = [whole[6], whole[7]];
    let (offsets, ids) = ([0i64, 1, 3], [COLS as i32 - 1, stop[0], stop[1]]);
    let ended = [whole[9]];
    let stops = TokenLists::new(&offsets, &ids);
    let add = AddArgs { token_ids: &[4], seed: 9, ..AddArgs::default() };
    let first = AddArgs { stop_sequences: stops, ..add };
    let stopped = session.add(&first).unwrap();
    let ended = session.add(&AddArgs { end_token_ids: &ended, ..add }).unwrap();
    Caller::new(4, 3).run(&mut session, 0);
    let found = session.get(stopped).unwrap();
    assert!(found.finish_reason == FinishReason::StopSequence && found.token_ids.len() <= 8);
    let end = found.token_ids.len();
    match found.stop_sequence {
        Some(0) => assert_eq!(found.token_ids[end - 1], ids[0]),
        other => assert!(other == Some(1) && found.token_ids[end - 2..] == stop),
    }
    assert_eq!(found.token_ids, &whole[..end]);
    let found = session.get(ended).unwrap();
    assert_eq!((found.finish_reason, found.stop_sequence), (FinishReason::EndToken, None));
    assert_eq!(found.token_ids, &whole[..found.token_ids.len()]);
    assert!(found.token_ids.len() <= 10);
}

#[test]
fn sequences_are_forked_and_removed() {
    let mut session = Session::new(sampler(), &options()).unwrap();
    let add = AddArgs { token_ids: &[4, 5], seed: 9, max_new_tokens: 12, ..AddArgs::default() };
    let source = session.add(&add).unwrap();
    let mut caller = Caller::new(4, 3);
    for _ in 0..4 {
        caller.step(&mut session, 0);
    }
    let same = session.fork(&ForkArgs { source, ..ForkArgs::default() }).unwrap();
    let greedy = Params { temperature: 0.0, ..Params::default() };
    let fork = ForkArgs { source, seed: Some(10), params: Some(greedy) };
    let other = session.fork(&fork).unwrap();
    for sequence in [same, other] {
        caller.caches[0][sequence as usize] = caller.caches[0][source as usize].clone();
    }
    caller.run(&mut session, 0);
    let wanted = drawn_alone(&[4, 5], 12, 9, Params::default()).text;
    assert_eq!(session.get(source).unwrap().token_ids, wanted);
    assert_eq!(session.get(same).unwrap().token_ids, wanted);
    let greedily = drawn_alone(&wanted[..6], 8, 10, greedy).text;
    assert_eq!(session.get(other).unwrap().token_ids, greedily);

    session.remove(same).unwrap();
    let error = session.get(same).unwrap_err();
    assert_eq!(error.message, "sequence is 1; the session has no such sequence");
    assert_eq!(session.add(&add).unwrap(), same);
    session.add(&add).unwrap();
    let error = session.add(&add).unwrap_err();
    assert!(error.message.contains("it has room for max_sequences, 4"), "{error}");
}

#[test]
fn masks_and_biases_are_those_of_the_pipeline() {
    let masks = [0b1u32 << 3, 0b1 << 5];
    let (offsets, ids) = ([0i64, 1], [5i32]);
    let biases = [-f32::INFINITY];
    let pipeline = Pipeline {
        token_bitmasks: (&masks).into(),
        biased: TokenLists::new(&offsets, &ids),
        biases: (&biases).into(),
        ..Pipeline::default()
    };
    let options = SessionOptions { pipeline: Some(pipeline), max_drafts: 0, ..options() };
    let mut session = Session::new(sampler(), &options).unwrap();
    session.add(&AddArgs { token_ids: &[4], ..AddArgs::default() }).unwrap();
    let mut plan = Plan::default();
    for (mask, token, reason) in [(0, 3, FinishReason::None), (1, -1, FinishReason::BadRow)] {
        session.plan(&PlanArgs::default(), &mut plan).unwrap();
        let logits = logits_after(plan.token_ids(), 0);
        let (mut ids, mut counts, mut reasons) = ([-7; 1], [0i64; 1], [0; 1]);
        session
            .advance(&AdvanceArgs {
                spans: plan.spans(),
                logits: (&logits).into(),
                token_bitmask_indices: (&[mask]).into(),
                out_token_ids: (&mut ids).into(),
                out_counts: (&mut counts).into(),
                out_finish_reasons: (&mut reasons).into(),
                ..AdvanceArgs::default()
            })
            .unwrap();
        assert_eq!((ids, reasons), ([token], [reason.raw()]));
    }
    let found = session.get(0).unwrap();
    assert_eq!((found.token_ids, found.row_status), (&[4, 3][..], RowStatus::EMPTY));
}

/// Blocks of three tokens, of which each step commits one: by the logits from the last position, whose
/// row is the sharpest, to the first; by what greedy sampling leaves of them all are alike.
#[test]
fn texts_grow_by_blocks() {
    const MASK: i32 = COLS as i32 - 1;
    let unmask = UnmaskParams {
        mask_token_id: MASK.into(),
        block_length: 3,
        blocks_after_prompt: true,
        ..UnmaskParams::default()
    };
    let add = AddArgs {
        token_ids: &[4, 5],
        params: Some(Params { temperature: 0.0, ..Params::default() }),
        max_new_tokens: 5,
        unmask: Some(unmask),
        ..AddArgs::default()
    };
    for (confidence_kind, second) in
        [(LogprobKind::Raw, [MASK, MASK, 10]), (LogprobKind::Processed, [8, MASK, MASK])]
    {
        let options = SessionOptions { has_blocks: true, confidence_kind, ..options() };
        let mut session = Session::new(sampler(), &options).unwrap();
        session.add(&add).unwrap();
        let (mut plan, mut planned, mut given) = (Plan::default(), vec![], vec![]);
        let (mut text, mut reason) = (vec![4, 5], FinishReason::None);
        while reason == FinishReason::None {
            session.plan(&PlanArgs::default(), &mut plan).unwrap();
            let span = plan.spans()[0];
            assert_eq!((plan.spans().len(), span.num_logits()), (1, 3));
            planned.push(plan.token_ids().to_vec());
            let mut logits = vec![0.0f32; 3 * COLS];
            for (i, row) in logits.chunks_mut(COLS).enumerate() {
                let position = span.start() + span.num_tokens() - 3 + i;
                row[position + 6] = 3.0 + i as f32;
            }
            let (mut ids, mut counts, mut reasons) = ([-7; 4], [-7i64; 1], [-7; 1]);
            session
                .advance(&AdvanceArgs {
                    spans: plan.spans(),
                    logits: (&logits).into(),
                    out_token_ids: (&mut ids).into(),
                    out_counts: (&mut counts).into(),
                    out_finish_reasons: (&mut reasons).into(),
                    ..AdvanceArgs::default()
                })
                .unwrap();
            given.push(counts[0]);
            let (new, rest) = ids.split_at(counts[0] as usize);
            text.extend(new);
            assert!(rest.iter().all(|&id| id == -1));
            reason = FinishReason::from(reasons[0]);
        }
        assert_eq!((&text[..], reason), (&[4, 5, 8, 9, 10, 11, 12][..], FinishReason::Length));
        assert_eq!(session.get(0).unwrap().token_ids, text);
        assert_eq!(given, [0, 0, 3, 0, 0, 2]);
        assert_eq!(
            (&planned[0][..], &planned[1][..]),
            (&[4, 5, MASK, MASK, MASK][..], &second[..])
        );
        assert_eq!(planned[3], [8, 9, 10, MASK, MASK, MASK]); // the block before is fed again

        let unmask = Some(UnmaskParams { block_length: 5, ..unmask });
        let error = session.add(&AddArgs { unmask, ..add }).unwrap_err();
        assert_eq!(error.message, "unmask->block_length is 5; it must be below 5");
    }
    let error = Session::new(sampler(), &options()).unwrap().add(&add).unwrap_err();
    assert_eq!(error.message, "unmask is set; the session must have has_blocks");
}

#[test]
fn texts_are_guided() {
    let params = Params { guidance_scale: 1.5, ..Params::default() };
    let options = SessionOptions { max_drafts: 0, max_top_logprobs: 0, ..options() };
    let mut session = Session::new(sampler(), &options).unwrap();
    let add = AddArgs { token_ids: &[4, 5], params: Some(params), seed: 3, ..AddArgs::default() };
    session.add(&add).unwrap();
    let (mut alone, mut plan) = (sampler(), Plan::default());
    let mut text = vec![4, 5];
    for offset in 0..8 {
        let (row, other) = (logits_after(&text, 0), logits_after(&text, 9));
        let (mut ids, mut counts, mut drawn) = ([-7; 1], [-7i64; 1], [-7; 1]);
        let guidance = Pipeline { guidance_logits: (&other).into(), ..Pipeline::default() };
        let mut args = SampleArgs {
            input: Rows::logits(&row, 1, COLS),
            params,
            random: Random::new(3, offset),
            pipeline: Some(&guidance),
            out_token_ids: (&mut drawn).into(),
            ..SampleArgs::default()
        };
        let mut workspace = vec![0u8; alone.sample_workspace_size(&args).unwrap()];
        args.exec.workspace = (&mut workspace).into();
        alone.sample(&args).unwrap();
        session.plan(&PlanArgs::default(), &mut plan).unwrap();
        let stride = COLS + offset as usize % 2;
        let mut others = row.clone();
        others.resize(stride, 0.0);
        others.extend(&other);
        others.resize(2 * stride, 0.0);
        let mut args = AdvanceArgs {
            spans: plan.spans(),
            logits: (&row).into(),
            logits_row_stride: stride,
            guidance_logits: (&others).into(),
            guidance_row_indices: (&[1]).into(),
            out_token_ids: (&mut ids).into(),
            out_counts: (&mut counts).into(),
            ..AdvanceArgs::default()
        };
        if offset == 0 {
            let mut refused = |args: AdvanceArgs, message: &str| {
                assert_eq!(session.advance(&args).unwrap_err().message, message);
            };
            let half = vec![F16(0); COLS];
            refused(
                AdvanceArgs {
                    guidance_logits: Array::default(),
                    guidance_row_indices: Array::default(),
                    ..args.reborrow()
                },
                "guidance_logits is NULL; sequence 0 has guidance_scale",
            );
            refused(
                AdvanceArgs { guidance_logits: (&others[1..]).into(), ..args.reborrow() },
                "guidance_logits has 45 elements; it must be rows of 23",
            );
            refused(
                AdvanceArgs { guidance_logits: (&half).into(), ..args.reborrow() },
                "guidance_logits is of SAMPLER_F16; logits_dtype of the session is SAMPLER_F32",
            );
            refused(
                AdvanceArgs { guidance_row_indices: (&[0; 0]).into(), ..args.reborrow() },
                "guidance_row_indices has 0 elements; this call needs 1",
            );
        }
        session.advance(&args).unwrap();
        assert_eq!((ids, counts), (drawn, [1]));
        text.push(ids[0]);
    }
    assert_ne!(text, drawn_alone(&[4, 5], 8, 3, Params::default()).text);
}

#[test]
fn wrong_arrays_are_refused() {
    let mut session =
        Session::new(sampler(), &SessionOptions { max_drafts: 1, ..options() }).unwrap();
    session.add(&AddArgs { token_ids: &[4, 5], ..AddArgs::default() }).unwrap();
    let mut plan = Plan::default();
    session.plan(&PlanArgs::default(), &mut plan).unwrap();
    assert_eq!((plan.spans().len(), plan.token_ids()), (1, &[4, 5][..]));
    assert_eq!(plan.spans()[0].num_logits(), 1);
    let row = vec![0.0f32; COLS];
    let halfs = vec![F16(0); COLS];
    fn refused(session: &mut Session, args: &AdvanceArgs, message: &str) {
        let error = session.advance(args).unwrap_err();
        assert_eq!((error.status, &error.message[..]), (Status::InvalidArgument, message));
    }
    let (mut ids, mut counts) = ([-7; 2], [-7i64; 1]);
    macro_rules! args {
        () => {
            AdvanceArgs {
                spans: plan.spans(),
                logits: (&row).into(),
                out_token_ids: (&mut ids).into(),
                out_counts: (&mut counts).into(),
                ..AdvanceArgs::default()
            }
        };
    }
    let mut args = args!();
    args.logits = (&row[1..]).into();
    refused(&mut session, &args, "logits has 22 elements; this call needs 23");
    args.logits = (&halfs).into();
    refused(
        &mut session,
        &args,
        "logits is of SAMPLER_F16; logits_dtype of the session is SAMPLER_F32",
    );
    let mut args = args!();
    let mut short = [-7; 1];
    args.out_token_ids = (&mut short).into();
    refused(&mut session, &args, "out_token_ids has 1 elements; this call needs 2");
    let mut none = [0i32; 0];
    for (member, set) in [
        ("out_finish_reasons", 0),
        ("out_cache_lengths", 1),
        ("out_drafter_cache_lengths", 2),
        ("out_accepted_counts", 3),
        ("out_row_status", 4),
        ("reports.out_logprobs", 5),
    ] {
        let (mut lengths, mut status, mut logprobs) = ([0i64; 0], [0u32; 0], [0.0f32; 1]);
        let mut args = args!();
        match set {
            0 => args.out_finish_reasons = (&mut none).into(),
            1 => args.out_cache_lengths = (&mut lengths).into(),
            2 => args.out_drafter_cache_lengths = (&mut lengths).into(),
            3 => args.out_accepted_counts = (&mut lengths).into(),
            4 => args.out_row_status = (&mut status).into(),
            _ => args.reports.out_logprobs = (&mut logprobs).into(),
        }
        let (len, needed) = if set == 5 { (1, 2) } else { (0, 1) };
        let who = if set == 5 { "reports" } else { "this call" };
        let message = format!("{member} has {len} elements; {who} needs {needed}");
        refused(&mut session, &args, &message);
    }
    let stale = plan.clone();
    session.advance(&args!()).unwrap();
    let mut args = args!();
    args.spans = stale.spans();
    refused(&mut session, &args, "spans[0] of sequence 0 is not a span that it was planned last");

    let wide = [1i64];
    let stops = TokenLists::new(&[0, 1], &wide);
    let error = session
        .add(&AddArgs { token_ids: &[4], stop_sequences: stops, ..AddArgs::default() })
        .unwrap_err();
    assert_eq!(error.message, "stop_sequences.token_ids is i64; it must be i32");
    let error =
        session.plan(&PlanArgs { sequences: Some(&[3]), max_tokens: 0 }, &mut plan).unwrap_err();
    assert_eq!(error.message, "sequences[0] is 3; the session has no such sequence");
    assert!(plan.spans().is_empty() && plan.token_ids().is_empty());
    session.plan(&PlanArgs { sequences: Some(&[]), max_tokens: 0 }, &mut plan).unwrap();
    assert!(plan.spans().is_empty());

    let few = SessionOptions { max_sequences: 0, ..options() };
    assert!(Session::new(sampler(), &few).unwrap_err().message.contains("max_sequences"));
    assert!(Session::size(&mut sampler(), &options()).unwrap() > 1000);
}
