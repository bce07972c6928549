//! States: draws by them are those of the texts, and what is refused.

use std::collections::HashMap;

use sampler::*;

const LOGITS: [f32; 5] = [2.0, 2.5, 1.5, -1.0, 0.0];
const NUM_TEXTS: usize = 3;

fn new_sampler() -> Sampler {
    Sampler::new(Options { max_rows: 3, max_cols: 5, ..Options::default() }).unwrap()
}

fn new_state(sampler: &mut Sampler, max_tokens: usize) -> State {
    State::new(sampler, StateOptions { num_slots: NUM_TEXTS, max_tokens, ..Default::default() })
        .unwrap()
}

/// Lists as one array, and where each begins.
fn lists(texts: &[Vec<i32>]) -> (Vec<i64>, Vec<i32>) {
    let mut offsets = vec![0];
    for text in texts {
        offsets.push(offsets[offsets.len() - 1] + text.len() as i64);
    }
    (offsets, texts.concat())
}

fn append(sampler: &mut Sampler, state: &mut State, texts: &[Vec<i32>], token_kind: TokenKind) {
    let (offsets, ids) = lists(texts);
    let tokens = TokenLists::new(&offsets, &ids);
    let args = AppendArgs { num_rows: texts.len(), tokens, token_kind, ..AppendArgs::default() };
    state.append(sampler, &args).unwrap();
}

/// Texts, lengths of prompts, adaptive values.
fn read(sampler: &mut Sampler, state: &State) -> (Vec<Vec<i32>>, Vec<i32>, Vec<f32>) {
    let num_tokens = 100;
    let mut ids = vec![77; NUM_TEXTS * num_tokens];
    let (mut lengths, mut prompts) = (vec![77; NUM_TEXTS], vec![77; NUM_TEXTS]);
    let mut values = vec![77.0; NUM_TEXTS * NUM_ADAPTIVE_VALUES];
    let args = ReadArgs {
        num_rows: NUM_TEXTS,
        out_token_ids: (&mut ids).into(),
        num_tokens,
        out_lengths: (&mut lengths).into(),
        out_prompt_lengths: (&mut prompts).into(),
        out_adaptive_values: (&mut values).into(),
        ..ReadArgs::default()
    };
    state.read(sampler, &args).unwrap();
    let texts = lengths.iter().zip(ids.chunks(num_tokens)).map(|(&length, ids)| {
        let (text, rest) = ids.split_at(length as usize);
        assert!(rest.iter().all(|&id| id == -1));
        text.to_vec()
    });
    (texts.collect(), prompts, values)
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Numbers in [-3, 3).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 40) as f32 / (1u64 << 24) as f32 * 6.0 - 3.0
    }
}

/// Draws by a state, and by texts and adaptive values that the program keeps, are the same, however
/// often some tokens are taken back.
#[test]
fn a_state_is_the_history() {
    const COLS: usize = 40;
    let mut sampler = Sampler::new(Options::default()).unwrap();
    let options = StateOptions {
        num_slots: NUM_TEXTS,
        max_tokens: 100,
        keep_adaptive_values: true,
        ..StateOptions::default()
    };
    let mut state = State::new(&mut sampler, options).unwrap();
    let mut texts = vec![vec![1, 2, 3, 1, 2], vec![7], vec![]];
    let prompts = [5, 1, 0];
    append(&mut sampler, &mut state, &texts, TokenKind::Prompt);
    let params = Params {
        repetition_penalty: 1.3,
        frequency_penalty: 0.25,
        dry_multiplier: 0.8,
        no_repeat_ngram_size: 3,
        adaptive_kind: AdaptiveKind::MirostatV2,
        adaptive_target: 3.0,
        adaptive_rate: 0.2,
        top_p: 0.98,
        top_p_decay: 0.9,
        top_p_least: 0.5,
        ..Params::default()
    };
    let (mut numbers, mut offsets) = (Numbers(1), [0u64; NUM_TEXTS]);
    let mut workspace = vec![0; 1 << 20];
    let mut values = read(&mut sampler, &state).2;
    let mut after = HashMap::new(); // values by slot and length
    for slot in 0..NUM_TEXTS {
        after.insert((slot, texts[slot].len()), bits(&values[4 * slot..4 * slot + 4]));
    }
    for step in 0..60 {
        let logits: Vec<f32> = (0..NUM_TEXTS * COLS).map(|_| numbers.next()).collect();
        let mut draw = |pipeline: &Pipeline| {
            let (mut ids, mut observations) = ([77; NUM_TEXTS], [77.0; NUM_TEXTS]);
            let args = SampleArgs {
                exec: Exec { workspace: (&mut workspace).into(), ..Exec::default() },
                input: Rows::logits(&logits, NUM_TEXTS, COLS),
                params,
                random: Random { seed: 9, offsets: (&offsets).into(), ..Random::default() },
                out_token_ids: (&mut ids).into(),
                reports: ReportArgs {
                    out_observations: (&mut observations).into(),
                    ..ReportArgs::default()
                },
                pipeline: Some(pipeline),
                ..SampleArgs::default()
            };
            sampler.sample(&args).unwrap();
            (ids, observations)
        };
        let (list_offsets, ids) = lists(&texts);
        let of_history = draw(&Pipeline {
            history: TokenLists::new(&list_offsets, &ids),
            prompt_lengths: (&prompts).into(),
            adaptive_values: (&values).into(),
            ..Pipeline::default()
        });
        let (ids, observations) = draw(&Pipeline { state: Some(&state), ..Pipeline::default() });
        assert_eq!((ids, observations), of_history, "step {step}");

        let (mut lengths, before) = ([77; NUM_TEXTS], offsets);
        let args = AcceptArgs {
            num_rows: NUM_TEXTS,
            token_ids: (&ids).into(),
            observations: (&observations).into(),
            params,
            offsets: (&mut offsets).into(),
            out_lengths: (&mut lengths).into(),
            ..AcceptArgs::default()
        };
        state.accept(&mut sampler, &args).unwrap();
        let values_after = read(&mut sampler, &state).2;
        for slot in 0..NUM_TEXTS {
            texts[slot].push(ids[slot]);
            assert_eq!(lengths[slot] as usize, texts[slot].len());
            assert_eq!(offsets[slot], before[slot] + 1);
            let values_of_slot = bits(&values_after[4 * slot..4 * slot + 4]);
            after.insert((slot, texts[slot].len()), values_of_slot);
        }
        if step % 5 == 4 {
            // Two texts lose tokens, by slots in another order.
            let kept = [texts[2].len() - 2, texts[0].len() - 1 - step % 3];
            let lengths = kept.map(|length| length as i32);
            let args = TruncateArgs {
                slots: (&[2, 0]).into(),
                lengths: (&lengths).into(),
                ..TruncateArgs::default()
            };
            state.truncate(&mut sampler, &args).unwrap();
            texts[2].truncate(kept[0]);
            texts[0].truncate(kept[1]);
        }
        let (of_state, of_prompts, new_values) = read(&mut sampler, &state);
        assert_eq!((&of_state, &of_prompts[..]), (&texts, &prompts[..]));
        values = new_values;
        for slot in 0..NUM_TEXTS {
            let wanted = &after[&(slot, texts[slot].len())];
            assert_eq!(&bits(&values[4 * slot..4 * slot + 4]), wanted, "step {step} slot {slot}");
        }
    }
}

#[test]
fn bad_rows_are_statuses() {
    let mut sampler = new_sampler();
    let mut state = new_state(&mut sampler, 4);
    let (mut lengths, mut row_status) = ([77; 4], [RowStatus::from(77); 4]);
    let args = AppendArgs {
        slots: (&[2, 3, 0, 1]).into(),
        tokens: TokenLists::new(&[0, 2, 3, 8, 9], &[5i64, 6, 7, 1, 2, 3, 4, 5, 1 << 31]),
        out_lengths: (&mut lengths).into(),
        out_row_status: (&mut row_status).into(),
        ..AppendArgs::default()
    };
    state.append(&mut sampler, &args).unwrap();
    assert_eq!(
        row_status,
        [RowStatus::OK, RowStatus::INVALID_SLOT, RowStatus::STATE_FULL, RowStatus::INVALID_LIST]
    );
    assert_eq!(lengths[..3], [2, -1, 0]);
    let (texts, prompts, _) = read(&mut sampler, &state);
    assert_eq!((texts, prompts), (vec![vec![], vec![], vec![5, 6]], vec![0; 3]));
}

/// Rows of verification end at their first negative id.
#[test]
fn several_tokens_are_accepted() {
    let mut sampler = new_sampler();
    let mut state = new_state(&mut sampler, 4);
    let mut offsets = [7, 8, 9];
    let args = AcceptArgs {
        slots: (&[2, 0]).into(),
        token_ids: (&[3i64, 4, -1, 6, -1, 8]).into(),
        num_tokens: 3,
        offsets: (&mut offsets).into(),
        ..AcceptArgs::default()
    };
    state.accept(&mut sampler, &args).unwrap();
    assert_eq!(read(&mut sampler, &state).0, [vec![6], vec![], vec![3, 4]]);
    assert_eq!(offsets, [8, 8, 11]);
}

#[test]
fn sequences_are_copied_and_reset() {
    let mut sampler = new_sampler();
    let (mut small, mut large) = (new_state(&mut sampler, 4), new_state(&mut sampler, 9));
    append(&mut sampler, &mut large, &[vec![1, 2, 3, 4, 5], vec![6, 7], vec![]], TokenKind::Output);
    let args = CopyArgs {
        source_slots: (&[1]).into(),
        destination_slots: (&[2]).into(),
        ..CopyArgs::default()
    };
    large.copy(&mut sampler, &args).unwrap();
    let mut row_status = [RowStatus::from(77); 2];
    let args = CopyArgs {
        source: Some(&large),
        source_slots: (&[0, 2]).into(),
        destination_slots: (&[1, 0]).into(),
        out_row_status: (&mut row_status).into(),
        ..CopyArgs::default()
    };
    small.copy(&mut sampler, &args).unwrap();
    assert_eq!(read(&mut sampler, &large).0, [vec![1, 2, 3, 4, 5], vec![6, 7], vec![6, 7]]);
    assert_eq!(read(&mut sampler, &small).0, [vec![6, 7], vec![], vec![]]);
    assert_eq!(row_status, [RowStatus::STATE_FULL, RowStatus::OK]);

    let values = [4.0, 1.0, 2.0, 0.5];
    let args = ResetArgs {
        slots: (&[1]).into(),
        adaptive_values: (&values).into(),
        ..ResetArgs::default()
    };
    large.reset(&mut sampler, &args).unwrap();
    let (texts, _, of_state) = read(&mut sampler, &large);
    assert_eq!(texts, [vec![1, 2, 3, 4, 5], vec![], vec![6, 7]]);
    assert_eq!(of_state[4..8], values);
    large.reset(&mut sampler, &ResetArgs::default()).unwrap(); // all
    assert_eq!(read(&mut sampler, &large).0, [vec![], vec![], vec![]]);
}

fn expect<T>(result: Result<T, Error>, message: &str) {
    let error = result.map(|_| ()).unwrap_err();
    assert_eq!((error.status, &error.message[..]), (Status::InvalidArgument, message));
}

#[test]
fn sequences_are_serialized() {
    let (mut sampler, mut other_sampler) = (new_sampler(), new_sampler());
    let mut state = new_state(&mut sampler, 9);
    append(&mut sampler, &mut state, &[vec![1, 2, 3, 4, 5], vec![6, 7], vec![]], TokenKind::Prompt);
    let data = state.serialize(&mut sampler, 0, 2).unwrap();
    let mut other = new_state(&mut other_sampler, 5);
    assert_eq!(other.deserialize(&mut other_sampler, 1, &data), Ok(2));
    let (texts, prompts, _) = read(&mut other_sampler, &other);
    assert_eq!(texts, [vec![], vec![1, 2, 3, 4, 5], vec![6, 7]]);
    assert_eq!(prompts, [0, 5, 2]);

    expect(
        other.deserialize(&mut other_sampler, 2, &data),
        "data have 2 sequences; the state has 1 slots from first_slot",
    );
    expect(
        new_state(&mut sampler, 4).deserialize(&mut sampler, 0, &data),
        "data have a sequence of 5 tokens; max_tokens of the state is 4",
    );
    expect(other.deserialize(&mut other_sampler, 4, &data), "first_slot is 4; it must be below 4");
    expect(state.serialize(&mut sampler, 2, 2), "num_slots is 2; it must be below 2");
    expect(
        state.serialize(&mut other_sampler, 0, 1),
        "state is of another sampler; it must be of the one that is called",
    );
    let mut damaged = data.clone();
    damaged[0] ^= 1;
    for bad in [&[][..], &data[..data.len() - 1], &damaged] {
        let error = other.deserialize(&mut other_sampler, 0, bad).unwrap_err();
        assert_eq!(error.status, Status::CorruptData);
    }
    assert_eq!(read(&mut other_sampler, &other).0[0], []);
}

#[test]
fn bad_options_are_refused() {
    let mut sampler = new_sampler();
    let options = StateOptions { num_slots: 2, max_tokens: 100, ..StateOptions::default() };
    for (options, message) in [
        (StateOptions { num_slots: 0, ..options }, "num_slots is 0; it must be at least 1"),
        (
            StateOptions { max_tokens: usize::MAX, ..options },
            "max_tokens is 9223372036854775807; it must be below 2147483648",
        ),
        (
            StateOptions { max_distinct_tokens: 101, ..options },
            "max_distinct_tokens is 101; it must be below 101",
        ),
    ] {
        expect(State::new(&mut sampler, options), message);
        expect(State::size(&mut sampler, options), message);
    }
    let plain = State::size(&mut sampler, options).unwrap();
    let kept = StateOptions { keep_adaptive_values: true, ..options };
    assert!(State::size(&mut sampler, kept).unwrap() >= plain + 2 * 100 * 16);
}

#[test]
fn wrong_arguments_are_refused() {
    let mut sampler = new_sampler();
    let s = &mut sampler;
    let mut state = new_state(s, 8);
    let slots = Array::from(&[0, 1]);
    let one = Array::from(&[1]);
    let ids = Array::from(&[1i32, 2]);
    let (mut one_i32, mut two_floats, mut two_u64) = ([77; 1], [77.0; 2], [77; 2]);

    let append = || AppendArgs { slots, ..AppendArgs::default() };
    expect(
        state.append(s, &AppendArgs { slots: one, num_rows: 2, ..append() }),
        "slots has 1 elements; this call needs 2",
    );
    expect(
        state.append(s, &AppendArgs { slots: Array::default(), num_rows: 4, ..append() }),
        "num_rows is 4; without slots it must be at most the state's slots, 3",
    );
    let tokens = TokenLists::new(&[0, 1], &[1i32]);
    expect(
        state.append(s, &AppendArgs { tokens, ..append() }),
        "tokens.num_lists is 1; it must be num_rows, 2",
    );
    let tokens = TokenLists::new(&[0, 1, 1], &[1i32]);
    let out_lengths = (&mut one_i32).into();
    expect(
        state.append(s, &AppendArgs { tokens, out_lengths, ..append() }),
        "out_lengths has 1 elements; this call needs 2",
    );
    expect(
        state.append(s, &AppendArgs { token_kind: TokenKind::from(2), ..append() }),
        "token_kind is 2; it must be one of its constants, 0 to 1",
    );

    let accept = || AcceptArgs { slots, num_tokens: 1, token_ids: ids, ..AcceptArgs::default() };
    expect(
        state.accept(s, &AcceptArgs { token_ids: Array::default(), ..accept() }),
        "token_ids is NULL; it is required",
    );
    expect(
        state.accept(s, &AcceptArgs { num_tokens: 2, ..accept() }),
        "token_ids has 2 elements; this call needs 4",
    );
    expect(
        state.accept(s, &AcceptArgs { observations: (&[0.0]).into(), ..accept() }),
        "observations has 1 elements; this call needs 2",
    );
    expect(
        state.accept(s, &AcceptArgs { offsets: (&mut two_u64).into(), ..accept() }),
        "offsets has 2 elements; this call needs 3",
    );
    let row_params = RowParams { top_p_decay: (&[0.5, 0.5]).into(), ..RowParams::default() };
    expect(
        state.accept(s, &AcceptArgs { row_params, ..accept() }),
        "row_params.top_p_decay has 2 elements; row_params needs 3",
    );

    let truncate = || TruncateArgs { slots, lengths: slots, ..TruncateArgs::default() };
    expect(
        state.truncate(s, &TruncateArgs { lengths: Array::default(), ..truncate() }),
        "lengths is NULL; it is required",
    );
    expect(
        state.truncate(s, &TruncateArgs { lengths: one, ..truncate() }),
        "lengths has 1 elements; this call needs 2",
    );

    let copy = || CopyArgs { source_slots: slots, destination_slots: slots, ..CopyArgs::default() };
    expect(
        state.copy(s, &CopyArgs { source_slots: one, ..copy() }),
        "source_slots has 1 elements; this call needs 2",
    );
    expect(
        state.copy(s, &CopyArgs { source_slots: Array::default(), ..copy() }),
        "source_slots is NULL; it is required",
    );

    let adaptive_values = (&[0.0; 7]).into();
    expect(
        state.reset(s, &ResetArgs { slots, adaptive_values, ..ResetArgs::default() }),
        "adaptive_values has 7 elements; this call needs 8",
    );
    let out_adaptive_values = (&mut two_floats).into();
    expect(
        state.read(s, &ReadArgs { slots, out_adaptive_values, ..ReadArgs::default() }),
        "out_adaptive_values has 2 elements; this call needs 8",
    );
    let mut two_ids = [0i64; 2];
    let out_token_ids = (&mut two_ids).into();
    expect(
        state.read(s, &ReadArgs { slots, out_token_ids, num_tokens: 2, ..ReadArgs::default() }),
        "out_token_ids has 2 elements; this call needs 4",
    );
    assert_eq!(read(s, &state).0, [vec![], vec![], vec![]]);
}

fn draw(sampler: &mut Sampler, pipeline: &Pipeline) -> Result<i32, Error> {
    let mut token_ids = [77];
    sampler.sample(&SampleArgs {
        input: Rows::logits(&LOGITS, 1, 5),
        out_token_ids: (&mut token_ids).into(),
        pipeline: Some(pipeline),
        ..SampleArgs::default()
    })?;
    Ok(token_ids[0])
}

#[test]
fn pipelines_refuse_other_states() {
    let (mut sampler, mut other) = (new_sampler(), new_sampler());
    let (mut state, of_other) = (new_state(&mut sampler, 8), new_state(&mut other, 8));
    let pipeline = Pipeline { state: Some(&of_other), ..Pipeline::default() };
    let message = "pipeline->state is of another sampler; it must be of the one that is called";
    expect(draw(&mut sampler, &pipeline), message);
    assert!(draw(&mut other, &pipeline).is_ok());
    let pipeline =
        Pipeline { adaptive_values: (&[f32::NAN; 4]).into(), state: Some(&state), ..pipeline };
    let message = "pipeline->adaptive_values is set; it must be NULL with pipeline->state";
    expect(draw(&mut sampler, &pipeline), message);
    let pipeline = Pipeline { adaptive_values: (&[f32::NAN; 3]).into(), ..Pipeline::default() };
    let message = "pipeline.adaptive_values has 3 elements; pipeline needs 4";
    expect(draw(&mut sampler, &pipeline), message);

    let message = "state is of another sampler; it must be of the one that is called";
    expect(state.reset(&mut other, &ResetArgs::default()), message);
    let args = CopyArgs {
        source: Some(&of_other),
        source_slots: (&[0]).into(),
        destination_slots: (&[0]).into(),
        ..CopyArgs::default()
    };
    let message = "source is of another sampler; it must be of the one that is called";
    expect(state.copy(&mut sampler, &args), message);
}

/// Another sampler at the address of one that was dropped would take its states.
#[test]
fn a_state_keeps_its_sampler() {
    let states: Vec<State> = (0..20).map(|_| new_state(&mut new_sampler(), 8)).collect();
    let mut sampler = new_sampler();
    for state in &states {
        let args = ReadArgs::default();
        assert_eq!(state.read(&mut sampler, &args).unwrap_err().status, Status::InvalidArgument);
    }
    // On other threads, in any order.
    let threads: Vec<_> =
        states.into_iter().rev().map(|state| std::thread::spawn(|| drop(state))).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
