//! Edits of logits: what they do to a draw, and arrays of wrong lengths.

use std::collections::BTreeSet;

use sampler::*;

const LOGITS: [f32; 10] = [2.0, 2.5, 1.5, -1.0, 0.0, 0.5, 1.0, -2.0, 3.0, 2.0];

/// What the pipeline below leaves of the logits, by hand.
const EDITED: [f32; 10] =
    [1.5, 2.5 / 1.5, f32::NEG_INFINITY, -1.5, 1.0, 0.0, 1.0, -3.0, f32::NEG_INFINITY, 3.0];

const OFFSETS: [i64; 3] = [0, 3, 4];
const HISTORY: [i32; 4] = [1, 3, 1, 2];

/// Two rows with a history, biases and a mask each.
fn pipeline() -> Pipeline<'static> {
    Pipeline {
        history: TokenLists::new(&OFFSETS, &HISTORY),
        biased: TokenLists::new(&[0, 2], &[4i32, 0]),
        biases: (&[1.0, -0.5]).into(),
        token_bitmasks: (&[0b11011, 0b10111]).into(),
        ..Pipeline::default()
    }
}

fn params() -> Params {
    Params { repetition_penalty: 1.5, ..Params::default() }
}

fn new_sampler() -> Sampler {
    Sampler::new(Options { max_rows: 2, max_cols: 5, ..Options::default() }).unwrap()
}

/// Tokens and what became of the rows.
fn sample(
    pipeline: &Pipeline,
    row_params: RowParams,
    offset: u64,
) -> Result<([i32; 2], [RowStatus; 2]), Error> {
    let (mut token_ids, mut row_status) = ([77; 2], [RowStatus::from(77); 2]);
    let result = new_sampler().sample(&SampleArgs {
        input: Rows::logits(&LOGITS, 2, 5),
        params: params(),
        row_params,
        random: Random::new(0, offset),
        out_token_ids: (&mut token_ids).into(),
        out_row_status: (&mut row_status).into(),
        pipeline: Some(pipeline),
        ..SampleArgs::default()
    });
    assert!(result.is_ok() || token_ids == [77; 2]);
    result.map(|()| (token_ids, row_status))
}

fn sample_row_edited_by_hand(offset: u64) -> [i32; 2] {
    let mut token_ids = [77; 2];
    let args = SampleArgs {
        input: Rows::logits(&EDITED, 2, 5),
        random: Random::new(0, offset),
        out_token_ids: (&mut token_ids).into(),
        ..SampleArgs::default()
    };
    new_sampler().sample(&args).unwrap();
    token_ids
}

#[test]
fn tokens_are_those_of_rows_edited_by_hand() {
    let ids_of_64_bits = Pipeline {
        history: TokenLists::new(&OFFSETS, &[1i64, 3, 1, 2]),
        biased: TokenLists::new(&[0, 2], &[4i64, 0]),
        ..pipeline()
    };
    let mut drawn = BTreeSet::new();
    for offset in 0..200 {
        let by_hand = (sample_row_edited_by_hand(offset), [RowStatus::OK; 2]);
        assert_eq!(sample(&pipeline(), RowParams::default(), offset).unwrap(), by_hand);
        assert_eq!(sample(&ids_of_64_bits, RowParams::default(), offset).unwrap(), by_hand);
        drawn.insert(by_hand.0[0]);
    }
    assert_eq!(drawn.len(), 4);
}

#[test]
fn a_filter_writes_what_the_edits_left() {
    let mut output = [0.0f32; 10];
    let pipeline = pipeline();
    let args = FilterArgs {
        input: Rows::logits(&LOGITS, 2, 5),
        params: params(),
        output_kind: OutputKind::Values,
        output: (&mut output).into(),
        pipeline: Some(&pipeline),
        ..FilterArgs::default()
    };
    new_sampler().filter(&args).unwrap();
    assert_eq!(output, EDITED);
}

#[test]
fn stages_are_in_their_order() {
    let lists = TokenLists::new(&[0, 1], &[1i32]);
    let pipeline =
        Pipeline { history: lists, biased: lists, biases: (&[0.5]).into(), ..Pipeline::default() };
    let filter = |stages: &[Stage]| {
        let (mut output, mut params) = ([0.0f32; 5], params());
        params.stages[..stages.len()].copy_from_slice(stages);
        let args = FilterArgs {
            input: Rows::logits(&LOGITS[..5], 1, 5),
            params,
            output_kind: OutputKind::Values,
            output: (&mut output).into(),
            pipeline: Some(&pipeline),
            ..FilterArgs::default()
        };
        new_sampler().filter(&args).map(|()| output[1])
    };
    assert_eq!(filter(&[]).unwrap(), 2.0);
    assert_eq!(filter(&[Stage::Bias, Stage::Penalties, Stage::TopK]).unwrap(), 2.0);
    let reversed = filter(&[Stage::Penalties, Stage::Bias, Stage::TopK]).unwrap();
    assert_eq!(reversed, 2.5 / 1.5 + 0.5);
    assert_eq!(
        filter(&[Stage::Bias, Stage::Penalties, Stage::TopK, Stage::TopK]).unwrap_err().message,
        "params->stages has SAMPLER_STAGE_TOP_K twice; it must have each stage once"
    );
}

/// The contents of offsets are the row's business.
#[test]
fn bad_offsets_are_a_row_status() {
    for offsets in [[0, 3, 5], [0, 3, 2], [0, 4, i64::MAX]] {
        let pipeline = Pipeline { history: TokenLists::new(&offsets, &HISTORY), ..pipeline() };
        let (token_ids, row_status) = sample(&pipeline, RowParams::default(), 0).unwrap();
        assert_eq!(row_status, [RowStatus::OK, RowStatus::INVALID_LIST]);
        assert!(token_ids[0] >= 0 && token_ids[1] == -1);
    }
}

#[test]
fn tokens_are_forced() {
    for forced in [3, 2, 5, 1 << 32] {
        let forced_token_ids = [-1, forced];
        let row_params =
            RowParams { forced_token_id: (&forced_token_ids).into(), ..RowParams::default() };
        let (token_ids, row_status) = sample(&pipeline(), row_params, 0).unwrap();
        assert!(token_ids[0] >= 0);
        if forced < 5 {
            assert_eq!((token_ids[1] as i64, row_status), (forced, [RowStatus::OK; 2]));
        } else {
            assert_eq!(token_ids[1], -1);
            assert_eq!(row_status, [RowStatus::OK, RowStatus::INVALID_PARAMETER]);
        }
    }
}

#[test]
fn wrong_lengths_are_refused() {
    fn refused(pipeline: Pipeline, message: &str) {
        let error = sample(&pipeline, RowParams::default(), 0).unwrap_err();
        assert_eq!((error.status, &error.message[..]), (Status::InvalidArgument, message));
    }
    let default = pipeline;
    let none: [i64; 0] = [];
    refused(
        Pipeline { history: TokenLists::new(&none, &HISTORY), ..default() },
        "pipeline.history.offsets has 0 elements; pipeline.history needs 1",
    );
    refused(
        Pipeline { history: TokenLists::new(&[0, 1, 2, 3], &HISTORY), ..default() },
        "pipeline->history.num_lists is 3; it must be 1 or the number of slots, 2",
    );
    refused(
        Pipeline { history: TokenLists::default(), ..default() },
        "params->repetition_penalty is 1.5; it needs pipeline->history or pipeline->state",
    );
    refused(
        Pipeline { prompt_lengths: (&[1]).into(), ..default() },
        "pipeline.prompt_lengths has 1 elements; pipeline needs 2",
    );
    refused(
        Pipeline { biases: (&[1.0]).into(), ..default() },
        "pipeline.biases has 1 elements; pipeline needs 2",
    );
    refused(
        Pipeline { biased: TokenLists::new(&[0, 2], &[4i64, 0]), ..default() },
        "pipeline.history.token_ids is i32 and pipeline.biased.token_ids i64; they must be the \
         same",
    );
    refused(
        Pipeline { guidance_logits: (&[0f32; 9]).into(), ..default() },
        "pipeline.guidance_logits has 9 elements; it must be rows of 5",
    );
    refused(
        Pipeline { guidance_logits: Array::bf16(&[0; 10]), ..default() },
        "pipeline.guidance_logits is of another type than the call's logits; they must be of one \
         type",
    );
    refused(
        Pipeline { dense_bias: (&[0.0; 9]).into(), ..default() },
        "pipeline.dense_bias has 9 elements; it must be rows of 5",
    );
    refused(
        Pipeline { dense_bias: (&[0.0; 15]).into(), ..default() },
        "pipeline->num_dense_biases is 3; it must be 1 or the number of slots, 2",
    );
    refused(
        Pipeline {
            bad_words: TokenLists::new(&[0, 1], &[1i32]),
            bad_word_offsets: (&[0, 1]).into(),
            ..default()
        },
        "pipeline.bad_word_offsets has 2 elements; pipeline needs 3",
    );
    refused(
        Pipeline { token_bitmasks: (&[31]).into(), ..default() },
        "pipeline->num_token_bitmasks is 1; it must be at least 2",
    );
    refused(
        Pipeline { token_bitmask_stride: 3, ..default() },
        "pipeline.token_bitmasks has 2 elements; it must be rows of 3",
    );
    refused(
        Pipeline { token_bitmask_indices: (&[1]).into(), ..default() },
        "pipeline.token_bitmask_indices has 1 elements; pipeline needs 2",
    );
    let forced = RowParams { forced_token_id: (&[1]).into(), ..RowParams::default() };
    assert_eq!(
        sample(&default(), forced, 0).unwrap_err().message,
        "row_params.forced_token_id has 1 elements; row_params needs 2"
    );
}
