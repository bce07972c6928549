//! What calls share: rows, parameters, randomness, and where a call runs.

use std::ffi::{CStr, CString};
use std::ptr::null_mut;

use sampler_sys as sys;

use crate::array::{reborrow, Array, ArrayMut, Id, Lent, Real};
use crate::check::{extent, invalid_argument, Place};
use crate::constants::*;
use crate::{error, Error, State};

/// A size for C. What exceeds i64 is i64::MAX, which the library refuses.
pub(crate) fn to_c(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// Rows of logits or probabilities.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rows<'a> {
    /// `[num_rows, num_cols]` Logits or probabilities.
    pub values: Array<'a, Real>,
    /// Rows, in [0, 2^31). With 0 a call does nothing.
    pub num_rows: usize,
    /// Columns: the vocabulary, or the room for candidates. In [1, 2^20).
    pub num_cols: usize,
    /// Distance of two rows in elements, at least `num_cols`. 0: `num_cols`.
    pub row_stride: usize,
    /// Candidate lists, laid out like `values`: the token id of each element, in [0, 2^20), none
    /// twice in a row. None: the id of an element is its column.
    pub candidate_ids: Array<'a, Id>,
    /// `[num_rows]` How many elements each row has, in [0, `num_cols`]. None: `num_cols`.
    pub candidate_counts: Array<'a, i32>,
    /// What the numbers mean.
    pub kind: InputKind,
}

impl<'a> Rows<'a> {
    /// Rows of logits, one after the other.
    pub fn logits(values: impl Into<Array<'a, Real>>, num_rows: usize, num_cols: usize) -> Self {
        Rows { values: values.into(), num_rows, num_cols, ..Rows::default() }
    }

    /// Rows of probabilities, one after the other. They are >= 0 and need not sum to 1.
    pub fn probabilities(
        values: impl Into<Array<'a, Real>>,
        num_rows: usize,
        num_cols: usize,
    ) -> Self {
        Rows { kind: InputKind::Probabilities, ..Rows::logits(values, num_rows, num_cols) }
    }

    /// For C. `name` is the argument.
    pub(crate) fn raw(&self, place: Place, name: &str) -> Result<sys::sampler_rows, Error> {
        self.raw_sequences(place, name, self.num_rows, 1, 0)
    }

    /// For C: rows of sequences of `num_positions` each, whose first ones are `stride` elements
    /// apart, 0 where they are contiguous.
    pub(crate) fn raw_sequences(
        &self,
        place: Place,
        name: &str,
        num_sequences: usize,
        num_positions: usize,
        stride: usize,
    ) -> Result<sys::sampler_rows, Error> {
        let row_stride = or(self.row_stride, self.num_cols);
        let stride = or(stride, num_positions.saturating_mul(row_stride));
        let sequence = extent(num_positions, self.num_cols, row_stride);
        let values = if sequence == 0 { 0 } else { extent(num_sequences, sequence, stride) };
        let counts = &self.candidate_counts;
        Ok(sys::sampler_rows {
            values: place.array(name, "values", &self.values, values)?,
            num_rows: to_c(self.num_rows),
            num_cols: to_c(self.num_cols),
            row_stride: to_c(self.row_stride),
            candidate_ids: place.array(name, "candidate_ids", &self.candidate_ids, values)?,
            candidate_counts: place.array(name, "candidate_counts", counts, self.num_rows)?,
            dtype: self.values.memory().element,
            kind: self.kind.raw(),
            candidate_id_type: self.candidate_ids.memory().element,
            ..sys::sampler_rows::INIT
        })
    }
}

/// `value`, or where it is 0 `default`.
pub(crate) fn or(value: usize, default: usize) -> usize {
    match value {
        0 => default,
        _ => value,
    }
}

/// The temperature, the filters, how they combine, and the numbers of the edits before them. The
/// default is temperature 1, no filter and no edit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Logits are divided by the temperature. At most 1e-5: greedy. Probabilities need 1 or greedy.
    pub temperature: f32,
    /// Keeps the shortest prefix of rank order whose probability is at least this, or above it by
    /// `top_p_sum`. >= 1: off; <= 0: one token.
    pub top_p: f32,
    /// Keeps the tokens at least this many times as likely as the likeliest one. <= 0: off; above
    /// 1: 1.
    pub min_p: f32,
    /// Keeps the first `top_k` tokens in rank order. <= 0 or >= `num_cols`: off.
    pub top_k: i32,
    /// What top-k does with ties.
    pub top_k_ties: TieRule,
    /// What top-p does with ties.
    pub top_p_ties: TieRule,
    /// Whether what top-p keeps must reach its share or exceed it.
    pub top_p_sum: SumRule,
    /// Which filter sees what.
    pub filter_order: FilterOrder,
    /// When the temperature applies.
    pub temperature_order: TemperatureOrder,
    /// How far `guidance_logits` of the pipeline lead the logits away from themselves. 0 and 1: off.
    pub guidance_scale: f32,
    /// Positive logits of tokens in the history are divided by this, others multiplied with it. Not
    /// negative; 0 and 1: off.
    pub repetition_penalty: f32,
    /// Subtracted from the logit of a token for each time that it is in the history.
    pub frequency_penalty: f32,
    /// Subtracted from the logits of tokens in the history, once.
    pub presence_penalty: f32,
    /// How many of the history's last tokens count for the penalties. <= 0: all.
    pub penalty_window: i32,
    /// Which tokens of the history count for the penalties.
    pub penalty_scope: PenaltyScope,
    /// How the penalties are computed.
    pub penalty_form: PenaltyForm,
    /// The exponential decay length penalty (Hugging Face) begins after this many tokens of the
    /// output. Negative: 0.
    pub exponential_decay_start: i32,
    /// At the n-th token after the start the logits x of [`Pipeline::stop`] become x + |x| *
    /// (`exponential_decay_factor`^n - 1). Not negative; 0 and 1: off.
    pub exponential_decay_factor: f32,
    /// A token that would continue a repeat of n tokens loses `dry_multiplier` * `dry_base`^(n -
    /// `dry_allowed_length`), from the allowed length on. <= 0: off.
    pub dry_multiplier: f32,
    /// 0: 1.75; below 1: off.
    pub dry_base: f32,
    /// 0: 2; negative: 0.
    pub dry_allowed_length: i32,
    /// Repeats are sought in this many last tokens of the history. <= 0: in all.
    pub dry_window: i32,
    /// Tokens that would complete an n-gram of the history are banned. <= 0: off.
    pub no_repeat_ngram_size: i32,
    /// [`Pipeline::stop`] is banned before the output has this many tokens. <= 0: no minimum.
    pub min_new_tokens: i32,
    /// What bad words are looked for in. `Output`: the output; the others: all.
    pub bad_word_scope: PenaltyScope,
    /// The temperature follows the entropy of what it sees, from max(0, `temperature` - range) to
    /// `temperature` + range. Logits only. <= 0: off.
    pub dynamic_temperature_range: f32,
    /// The power, of the entropy's share of the largest, that the temperature follows. 0: 1;
    /// negative: 0.
    pub dynamic_temperature_exponent: f32,
    /// Locally typical sampling: keeps tokens whose surprise is nearest the entropy, of so much
    /// probability. <= 0, >= 1: off.
    pub typical_p: f32,
    /// Keeps tokens within this many standard deviations of the largest logit. <= 0: off.
    pub top_n_sigma: f32,
    /// Keeps tokens of at least this probability. <= 0, >= 1: off.
    pub epsilon_cutoff: f32,
    /// Keeps tokens of at least this probability, or less where the entropy is high. <= 0, >= 1:
    /// off.
    pub eta_cutoff: f32,
    /// Keeps the first tokens that have this share of the entropy. <= 0, >= 1: off.
    pub top_h: f32,
    /// Keeps tokens of a probability of at least the sum of squared probabilities.
    pub p_less: PLessKind,
    /// min-k's tau: keeps the tokens before the steepest fall of the logits, and tau divided by
    /// their range of a flat row. <= 0: off; 3 is usual.
    pub min_k: f32,
    /// Keeps tokens of a probability of at least this times the largest one squared. <= 0: off.
    pub top_a: f32,
    /// How often top choices are excluded: of those above the threshold only the last is kept.
    /// [`Sampler::sample`](crate::Sampler::sample) only. <= 0: off.
    pub xtc_probability: f32,
    /// From which probability on a token is a top choice. 0: 0.1; negative: 0; above 0.5: off.
    pub xtc_threshold: f32,
    /// What typical-p does with ties.
    pub typical_p_ties: TieRule,
    /// Whether what typical-p keeps must reach its share or exceed it.
    pub typical_p_sum: SumRule,
    /// What epsilon and eta do with ties of the last token that `min_keep` asks for.
    pub cutoff_ties: TieRule,
    /// No window, top-k, top-p and min-p among them, keeps fewer tokens than this, where there are
    /// enough. <= 1: one.
    pub min_keep: i32,
    /// The order of all stages; a default one ends it. Edits come first, `Adaptive` last. A stage
    /// that is on must be listed, none twice. `filter_order` must be `Sequential`, whatever it means
    /// without a list, or `Joint`: then the listed ones of top-k, top-p and min-p stand side by
    /// side. `temperature_order` must be `First`. The default, none: the order of the constants.
    pub stages: [Stage; MAX_STAGES],
    /// Mirostat, adaptive-p or smoothing. Changes nothing in a greedy row; what is drawn moves it on: see
    /// [`Pipeline::adaptive_values`] and [`State::accept`](crate::State::accept).
    pub adaptive_kind: AdaptiveKind,
    /// Mirostat's surprise in bits (0: 5; not negative), or adaptive-p's probability (negative:
    /// off; above 1: 1), or smoothing's factor (0: off; not negative). Finite.
    pub adaptive_target: f32,
    /// Mirostat's learning rate (0: 0.1), or adaptive-p's decay (0: 0.9; above 0.99: 0.99), both 0
    /// where negative, or smoothing's curve (0: 1; from 1 to 3). Finite.
    pub adaptive_rate: f32,
    /// After each token the running top-p, which begins as `top_p`, is multiplied by this. <= 0, >=
    /// 1: off.
    pub top_p_decay: f32,
    /// The running top-p does not fall below this. Finite.
    pub top_p_least: f32,
}

impl Default for Params {
    fn default() -> Self {
        // Not made anew in each call.
        const DEFAULT: Params = Params::from_raw(&sys::sampler_params::INIT);
        DEFAULT
    }
}

impl Params {
    /// Parameters by an engine's name: its order of stages, its rules of ties, scopes and forms, and
    /// its own defaults. They give the engine's distribution, not its random numbers; what the
    /// engine does not do is not listed in `stages`, and an error where it is on.
    /// docs/coming-from.md has what differs all the same. The name is one of
    ///
    /// - `llama.cpp`, `vllm`, `sglang`, `tensorrt_llm`, `hugging_face`, `flashinfer`
    /// - `vllm_v2`: vLLM's second model runner, whose top-k has k tokens, whatever ties
    /// - `hf_vllm_aligned`: temperature, top-k with ties and top-p, greedy at 0: what small engines
    ///   do
    /// - `nano_vllm`: the temperature alone. Its draw is [`DrawMethod::Gumbel`]
    ///
    /// the newest version that is known, or another one, as in `vllm@0.33`:
    /// [`preset_names`](Params::preset_names) lists them.
    pub fn preset(name: &str) -> Result<Params, Error> {
        error::ensure_loaded()?;
        let name = CString::new(name)
            .map_err(|_| invalid_argument("name has a zero byte; it must have none".into()))?;
        let mut raw = sys::sampler_params::INIT;
        // SAFETY: fills a struct of the size that is said.
        error::check(unsafe {
            sys::sampler_params_preset(&mut raw, raw.struct_size, name.as_ptr())
        })?;
        Ok(Params::from_raw(&raw))
    }

    /// The names of all presets, with their versions where they have one. Fails only where the
    /// library cannot be loaded.
    pub fn preset_names() -> Result<Vec<&'static str>, Error> {
        error::ensure_loaded()?;
        // SAFETY: a static C string, or NULL.
        let names = (0..).map(|index| unsafe { sys::sampler_preset_name(index) });
        let names = names.take_while(|name| !name.is_null());
        // SAFETY: a static C string.
        Ok(names.map(|name| unsafe { CStr::from_ptr(name) }.to_str().expect("ASCII")).collect())
    }
}

/// The numbers of [`Params`] by slot: an array replaces the number of its name.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowParams<'a> {
    /// Temperatures.
    pub temperature: Array<'a, f32>,
    /// top-p.
    pub top_p: Array<'a, f32>,
    /// min-p.
    pub min_p: Array<'a, f32>,
    /// top-k.
    pub top_k: Array<'a, i32>,
    /// Scales of the guidance.
    pub guidance_scale: Array<'a, f32>,
    /// Repetition penalties.
    pub repetition_penalty: Array<'a, f32>,
    /// Frequency penalties.
    pub frequency_penalty: Array<'a, f32>,
    /// Presence penalties.
    pub presence_penalty: Array<'a, f32>,
    /// Windows of the penalties.
    pub penalty_window: Array<'a, i32>,
    /// Starts of exponential decays.
    pub exponential_decay_start: Array<'a, i32>,
    /// Factors of exponential decays.
    pub exponential_decay_factor: Array<'a, f32>,
    /// Multipliers of DRY.
    pub dry_multiplier: Array<'a, f32>,
    /// Bases of DRY.
    pub dry_base: Array<'a, f32>,
    /// Allowed lengths of DRY.
    pub dry_allowed_length: Array<'a, i32>,
    /// Windows of DRY.
    pub dry_window: Array<'a, i32>,
    /// Sizes of n-grams that must not come again.
    pub no_repeat_ngram_size: Array<'a, i32>,
    /// Least lengths of outputs.
    pub min_new_tokens: Array<'a, i32>,
    /// Ranges of dynamic temperatures.
    pub dynamic_temperature_range: Array<'a, f32>,
    /// Exponents of dynamic temperatures.
    pub dynamic_temperature_exponent: Array<'a, f32>,
    /// typical-p.
    pub typical_p: Array<'a, f32>,
    /// top-n-sigma.
    pub top_n_sigma: Array<'a, f32>,
    /// Epsilon cutoffs.
    pub epsilon_cutoff: Array<'a, f32>,
    /// Eta cutoffs.
    pub eta_cutoff: Array<'a, f32>,
    /// top-h.
    pub top_h: Array<'a, f32>,
    /// Numbers of [`PLessKind`]: `PLessKind::Plain.raw()`. Another one makes the row bad.
    pub p_less: Array<'a, i32>,
    /// Taus of min-k.
    pub min_k: Array<'a, f32>,
    /// Shares of top-a.
    pub top_a: Array<'a, f32>,
    /// Probabilities of XTC.
    pub xtc_probability: Array<'a, f32>,
    /// Thresholds of XTC.
    pub xtc_threshold: Array<'a, f32>,
    /// Least numbers of kept tokens.
    pub min_keep: Array<'a, i32>,
    /// The token that a slot yields whatever the rest says. Negative: none. One that is no element
    /// of the row makes it bad. [`Sampler::sample`](crate::Sampler::sample) only.
    pub forced_token_id: Array<'a, i64>,
    /// Numbers of [`AdaptiveKind`]: `AdaptiveKind::P.raw()`. Another one makes the row bad.
    pub adaptive_kind: Array<'a, i32>,
    /// Targets of adaptive stages.
    pub adaptive_target: Array<'a, f32>,
    /// Rates of adaptive stages.
    pub adaptive_rate: Array<'a, f32>,
    /// Factors of the running top-p.
    pub top_p_decay: Array<'a, f32>,
    /// Least values of the running top-p.
    pub top_p_least: Array<'a, f32>,
    /// The token after which the running top-p is top-p again. Negative, and without the array:
    /// none.
    pub top_p_reset_token_id: Array<'a, i64>,
}

impl RowParams<'_> {
    pub(crate) fn raw(&self, place: Place, slots: usize) -> Result<sys::sampler_row_params, Error> {
        self.raw_of(place, "row_params", slots)
    }
}

/// Lists of token ids, one after the other in one array: list i has the ids from `offsets[i]` to
/// `offsets[i + 1] - 1`. The default is no lists.
///
/// Where lists are by slot there are as many as slots, or one for all. Rows whose offsets fall, or
/// lie outside of the ids, are bad.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokenLists<'a> {
    /// Where each list begins, and the last one ends: one more than there are lists, ascending.
    pub offsets: Array<'a, i64>,
    /// The ids of all lists, of one type in all lists of a pipeline.
    pub token_ids: Array<'a, Id>,
}

impl<'a> TokenLists<'a> {
    /// Lists.
    pub fn new(offsets: impl Into<Array<'a, i64>>, token_ids: impl Into<Array<'a, Id>>) -> Self {
        TokenLists { offsets: offsets.into(), token_ids: token_ids.into() }
    }

    pub(crate) fn raw(&self, place: Place, of: &str) -> Result<sys::sampler_token_lists, Error> {
        let needed = usize::from(!self.offsets.is_none());
        Ok(sys::sampler_token_lists {
            offsets: place.array(of, "offsets", &self.offsets, needed)?,
            token_ids: place.array(of, "token_ids", &self.token_ids, 0)?,
            num_lists: to_c(self.offsets.memory().len.saturating_sub(1)),
            num_token_ids: to_c(self.token_ids.memory().len),
        })
    }
}

/// What edits of logits know of tokens: lists, and a sequence's tokens so far. The numbers of the
/// edits are in [`Params`] and [`RowParams`]. The default edits nothing.
///
/// Logits are edited before the temperature, by: guidance; biases; bans (allowed and banned tokens,
/// bad words, stop tokens, the bitmask); penalties; DRY; n-grams. Each sees what the one before
/// left. They work in `f32`; -inf stays -inf. Ids that are no element of a row are edited by nothing.
/// Rows of probabilities are not edited.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pipeline<'a> {
    /// By slot: the tokens so far, the oldest first; the prompt, then the output. Penalties, DRY,
    /// n-grams, bad words and `min_new_tokens` need it.
    pub history: TokenLists<'a>,
    /// `[slots]` How many tokens of each history are the prompt, in [0, its length]. None: 0, all
    /// is output.
    pub prompt_lengths: Array<'a, i32>,
    /// No history is longer; rows of a longer one are bad. DRY and n-grams take 4 bytes of
    /// workspace for each token of it. 0: as many as the history has token ids, or the state's
    /// `max_tokens`.
    pub max_history_tokens: usize,
    /// Classifier-free guidance: rows of logits u of the same tokens, as after another prompt, laid
    /// out like the call's logits x and of their type, which become u + `guidance_scale` * (x - u).
    /// Not for sessions, where [`AdvanceArgs`](crate::AdvanceArgs) has them.
    pub guidance_logits: Array<'a, Real>,
    /// `[output rows]` The guidance row of each row; negative: none; beyond the rows: the row is
    /// bad. None: row i has row i.
    pub guidance_row_indices: Array<'a, i32>,
    /// By slot: tokens to whose logits something is added.
    pub biased: TokenLists<'a>,
    /// What is added, for each id of `biased`: finite or -inf. Both biases of an id that a list has
    /// twice are added.
    pub biases: Array<'a, f32>,
    /// A list for each id of `biased`: its bias is added only where the history ends in these
    /// tokens. Empty lists: always. None: always, for all.
    pub bias_contexts: TokenLists<'a>,
    /// `[1 or slots, dense_bias_stride]` Added by id: one row for all slots, or one each. Ids from
    /// `dense_bias_stride` on get none.
    pub dense_bias: Array<'a, f32>,
    /// 0: `num_cols`. With candidate ids it must be given.
    pub dense_bias_stride: usize,
    /// By slot: the only tokens that may be drawn, where a slot's list has any. Ids may come twice.
    pub allowed: TokenLists<'a>,
    /// By slot: tokens that must not be drawn.
    pub banned: TokenLists<'a>,
    /// By slot: tokens that must not be drawn before the output has `min_new_tokens` tokens, and
    /// that the exponential decay makes likelier.
    pub stop: TokenLists<'a>,
    /// By slot: tokens that repetition, frequency and presence penalties leave as they are.
    pub unpenalized: TokenLists<'a>,
    /// Words of one or more tokens. A word's last token is banned where the history ends in the
    /// others. A word without tokens makes its rows bad.
    pub bad_words: TokenLists<'a>,
    /// `[slots + 1]` Which bad words each slot has: slot s has those from `bad_word_offsets[s]` to
    /// `bad_word_offsets[s + 1] - 1`. None: every slot has all.
    pub bad_word_offsets: Array<'a, i64>,
    /// DRY's sequence breakers, for all slots: distinct sequences of 1 to 20 tokens in
    /// lexicographic order. Others make rows with DRY bad.
    pub dry_breakers: TokenLists<'a>,
    /// `[masks, token_bitmask_stride]` Bit i of word j is 1 where id 32 j + i may be drawn.
    pub token_bitmasks: Array<'a, u32>,
    /// In words, the length of a mask, too. 0: `num_cols` / 32, rounded up. With candidate ids it
    /// must be given.
    pub token_bitmask_stride: usize,
    /// What a mask says of ids that it has no bit for.
    pub token_bitmask_rule: MaskRule,
    /// `[output rows]` The mask of each; negative: none; one that is not there makes the row bad.
    /// None: row i has mask i, and there must be one for each.
    pub token_bitmask_indices: Array<'a, i32>,
    /// In place of `history`, `prompt_lengths` and `adaptive_values`, which must be none then: slot
    /// s of the call is slot s of the state, and the call's slots are at most those of the state. Of
    /// the same sampler. The call reads it and changes nothing.
    pub state: Option<&'a State>,
    /// `[slots, NUM_ADAPTIVE_VALUES]` Of callers without a state, who move them on from
    /// `out_observations` by section 14.2 of docs/contract.md. A NaN is the start of its stage; an
    /// infinity makes the row bad. None: all start.
    pub adaptive_values: Array<'a, f32>,
}

impl Pipeline<'_> {
    /// The type of all ids, which C has one member for.
    fn token_id_type(&self) -> Result<i32, Error> {
        let mut first: Option<(&str, i32)> = None;
        for (name, lists) in [
            ("history", &self.history),
            ("biased", &self.biased),
            ("bias_contexts", &self.bias_contexts),
            ("allowed", &self.allowed),
            ("banned", &self.banned),
            ("stop", &self.stop),
            ("unpenalized", &self.unpenalized),
            ("bad_words", &self.bad_words),
            ("dry_breakers", &self.dry_breakers),
        ] {
            let element = lists.token_ids.memory().element;
            match first {
                _ if lists.token_ids.is_none() => {}
                None => first = Some((name, element)),
                Some((_, before)) if before == element => {}
                Some((before, _)) => {
                    let is_i32 = element == sys::SAMPLER_ID_I32;
                    let (this, other) = if is_i32 { ("i32", "i64") } else { ("i64", "i32") };
                    return Err(invalid_argument(format!(
                        "pipeline.{before}.token_ids is {other} and pipeline.{name}.token_ids \
                         {this}; they must be the same"
                    )));
                }
            }
        }
        Ok(first.map_or(0, |(_, element)| element))
    }

    /// For C: of `slots` slots, `num_rows` rows of output, and a call's logits `rows`.
    pub(crate) fn raw(
        &self,
        place: Place,
        slots: usize,
        num_rows: usize,
        rows: &Rows<'_>,
    ) -> Result<sys::sampler_pipeline, Error> {
        let (of, num_cols) = ("pipeline", rows.num_cols);
        let guidance = self.guidance_logits.memory();
        if !guidance.address.is_null() && guidance.element != rows.values.memory().element {
            return Err(invalid_argument(
                "pipeline.guidance_logits is of another type than the call's logits; they must be \
                 of one type"
                    .to_owned(),
            ));
        }
        let guidance_stride = or(rows.row_stride, num_cols);
        let guidance_indices = &self.guidance_row_indices;
        let biased = self.biased.token_ids.memory().len;
        let dense_bias_stride = or(self.dense_bias_stride, num_cols);
        let mask_stride = or(self.token_bitmask_stride, num_cols.saturating_add(31) / 32);
        let offsets = &self.bad_word_offsets;
        let indices = &self.token_bitmask_indices;
        let values = slots.saturating_mul(NUM_ADAPTIVE_VALUES);
        Ok(sys::sampler_pipeline {
            token_id_type: self.token_id_type()?,
            token_bitmask_rule: self.token_bitmask_rule.raw(),
            history: self.history.raw(place, "pipeline.history")?,
            prompt_lengths: place.array(of, "prompt_lengths", &self.prompt_lengths, slots)?,
            max_history_tokens: to_c(self.max_history_tokens),
            guidance_logits: place.array(of, "guidance_logits", &self.guidance_logits, 0)?,
            num_guidance_rows: rows_of(
                "pipeline.guidance_logits",
                &self.guidance_logits,
                guidance_stride,
            )?,
            guidance_row_indices: place.array(
                of,
                "guidance_row_indices",
                guidance_indices,
                num_rows,
            )?,
            biased: self.biased.raw(place, "pipeline.biased")?,
            biases: place.array(of, "biases", &self.biases, biased)?,
            bias_contexts: self.bias_contexts.raw(place, "pipeline.bias_contexts")?,
            dense_bias: place.array(of, "dense_bias", &self.dense_bias, 0)?,
            num_dense_biases: rows_of("pipeline.dense_bias", &self.dense_bias, dense_bias_stride)?,
            dense_bias_stride: to_c(self.dense_bias_stride),
            allowed: self.allowed.raw(place, "pipeline.allowed")?,
            banned: self.banned.raw(place, "pipeline.banned")?,
            stop: self.stop.raw(place, "pipeline.stop")?,
            unpenalized: self.unpenalized.raw(place, "pipeline.unpenalized")?,
            bad_words: self.bad_words.raw(place, "pipeline.bad_words")?,
            bad_word_offsets: place.array(
                of,
                "bad_word_offsets",
                offsets,
                slots.saturating_add(1),
            )?,
            dry_breakers: self.dry_breakers.raw(place, "pipeline.dry_breakers")?,
            token_bitmasks: place.array(of, "token_bitmasks", &self.token_bitmasks, 0)?,
            num_token_bitmasks: rows_of(
                "pipeline.token_bitmasks",
                &self.token_bitmasks,
                mask_stride,
            )?,
            token_bitmask_stride: to_c(self.token_bitmask_stride),
            token_bitmask_indices: place.array(of, "token_bitmask_indices", indices, num_rows)?,
            state: self.state.map_or(null_mut(), State::raw),
            adaptive_values: place.array(of, "adaptive_values", &self.adaptive_values, values)?,
            ..sys::sampler_pipeline::INIT
        })
    }
}

/// How many rows an array has.
pub(crate) fn rows_of<T>(name: &str, array: &Array<T>, stride: usize) -> Result<i64, Error> {
    let len = array.memory().len;
    if stride == 0 || len % stride == 0 {
        // Without columns the library refuses the call.
        Ok(to_c(len.checked_div(stride).unwrap_or(0)))
    } else {
        Err(invalid_argument(format!("{name} has {len} elements; it must be rows of {stride}")))
    }
}

/// Randomness: a function of (seed, offset, stream). Use each triple once: a sequence takes a seed,
/// or a stream of one, and its position as the offset.
#[derive(Clone, Copy, Debug, Default)]
pub struct Random<'a> {
    /// The seed, where there are no `seeds`.
    pub seed: u64,
    /// The offset, where there are no `offsets`: another at each step.
    pub offset: u64,
    /// Seeds: 1 for all, or one for each slot.
    pub seeds: Array<'a, u64>,
    /// Offsets: 1 for all, or one for each slot.
    pub offsets: Array<'a, u64>,
    /// The stream of each slot. None: the slot's number where one seed serves all, 0 where each has
    /// its own.
    pub streams: Array<'a, u32>,
}

impl Random<'_> {
    /// One seed and one offset for all.
    pub fn new(seed: u64, offset: u64) -> Self {
        Random { seed, offset, ..Random::default() }
    }

    pub(crate) fn raw(&self, place: Place, slots: usize) -> Result<sys::sampler_random, Error> {
        let (of, place) = ("random", place.of_parameters());
        Ok(sys::sampler_random {
            seed: self.seed,
            offset: self.offset,
            seeds: place.array(of, "seeds", &self.seeds, 0)?,
            offsets: place.array(of, "offsets", &self.offsets, 0)?,
            streams: place.array(of, "streams", &self.streams, slots)?,
            num_seeds: to_c(self.seeds.memory().len),
            num_offsets: to_c(self.offsets.memory().len),
        })
    }
}

/// Where a call runs.
#[derive(Debug, Default)]
pub struct Exec<'a> {
    /// Where the work is enqueued. A CPU sampler ignores it.
    pub stream: Stream,
    /// Memory for the call, at least the bytes that its `_workspace_size` method returns; any
    /// alignment. None: the sampler's.
    pub workspace: ArrayMut<'a, u8>,
}

reborrow!(Exec);

impl Exec<'_> {
    pub(crate) fn raw(&self, place: Place) -> Result<sys::sampler_exec, Error> {
        Ok(sys::sampler_exec {
            stream: self.stream.0,
            workspace: place.array("exec", "workspace", &self.workspace, 0)?,
            workspace_bytes: self.workspace.memory().len,
        })
    }
}

/// A CUDA stream, on which a call enqueues its work. A CPU sampler ignores it. The default is the
/// legacy default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(pub(crate) sys::sampler_stream);

impl Default for Stream {
    fn default() -> Self {
        Stream(null_mut())
    }
}

impl Stream {
    /// A stream by its `cudaStream_t` or `CUstream`.
    ///
    /// # Safety
    ///
    /// It is a stream of the sampler's device and exists until the work on it has finished. Calls
    /// that share a workspace, the sampler's included, are on one stream or do not overlap in time.
    pub unsafe fn from_raw(stream: usize) -> Self {
        Stream(stream as sys::sampler_stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ON_CUDA: Place = Place { on_cuda: true, host_parameters: false };

    #[test]
    fn numbers_of_edits_and_windows_arrive() {
        let (mut params, mut next) = (Params::default(), 100);
        macro_rules! check {
            (numbers: $($number:ident)*; enumerations: $($name:ident: $type:ident)*) => {{
                $(next += 1; params.$number = next as _;)*
                $(next += 1; params.$name = $type::from_raw(next);)*
                let raw = params.raw();
                $(assert_eq!(raw.$number, params.$number, stringify!($number));)*
                $(assert_eq!(raw.$name, params.$name.raw(), stringify!($name));)*
            }};
        }
        check!(
            numbers: guidance_scale repetition_penalty frequency_penalty presence_penalty penalty_window
                exponential_decay_start exponential_decay_factor dry_multiplier dry_base dry_allowed_length dry_window no_repeat_ngram_size
                min_new_tokens dynamic_temperature_range dynamic_temperature_exponent typical_p
                top_n_sigma epsilon_cutoff eta_cutoff top_h min_k top_a xtc_probability xtc_threshold
                min_keep
                adaptive_target adaptive_rate top_p_decay top_p_least;
            enumerations: penalty_scope: PenaltyScope penalty_form: PenaltyForm
                bad_word_scope: PenaltyScope typical_p_ties: TieRule typical_p_sum: SumRule
                cutoff_ties: TieRule p_less: PLessKind adaptive_kind: AdaptiveKind
        );
        assert_eq!(params.raw().stages, [0; MAX_STAGES]);
        params.stages[..3].copy_from_slice(&[Stage::Dry, Stage::TopK, Stage::Temperature]);
        params.stages[31] = Stage::MinP;
        let mut numbers = [0; MAX_STAGES];
        numbers[..3].copy_from_slice(&[4, 16, 6]);
        numbers[31] = 18;
        assert_eq!(params.raw().stages, numbers);
        assert_eq!(Params::from_raw(&params.raw()), params);
    }

    /// Arrays have the elements that they need: 7 slots, 7 rows.
    #[test]
    fn arrays_of_pipelines_arrive() {
        let (mut row_params, mut pipeline) = (RowParams::default(), Pipeline::default());
        let rows = Rows::logits(&[0f32; 40], 1, 40);
        let mut next = 4096;
        let mut address = || {
            next += 1;
            next
        };
        macro_rules! fill {
            ($($array:expr, $type:ty, $len:expr;)*) => {
                // SAFETY: nobody reads them.
                $($array = unsafe { Array::device(address() as *const $type, $len) };)*
            };
        }
        macro_rules! check_parameters {
            ($($name:ident: $type:ty;)*) => {{
                fill!($(row_params.$name, $type, 7;)*);
                let raw = row_params.raw(ON_CUDA, 7).unwrap();
                $(assert_eq!(raw.$name as usize, row_params.$name.memory().address as usize,
                             stringify!($name));)*
            }};
        }
        check_parameters!(
            guidance_scale: f32;
            repetition_penalty: f32; frequency_penalty: f32; presence_penalty: f32;
            penalty_window: i32; exponential_decay_start: i32; exponential_decay_factor: f32;
            dry_multiplier: f32; dry_base: f32; dry_allowed_length: i32;
            dry_window: i32; no_repeat_ngram_size: i32; min_new_tokens: i32;
            dynamic_temperature_range: f32; dynamic_temperature_exponent: f32; typical_p: f32;
            top_n_sigma: f32; epsilon_cutoff: f32; eta_cutoff: f32; top_h: f32;
            p_less: i32; min_k: f32; top_a: f32; xtc_probability: f32; xtc_threshold: f32; min_keep: i32; forced_token_id: i64;
            adaptive_kind: i32; adaptive_target: f32; adaptive_rate: f32; top_p_decay: f32;
            top_p_least: f32; top_p_reset_token_id: i64;
        );
        macro_rules! check_pipeline {
            ({ $($lists:ident $num_lists:expr, $num_ids:expr;)* }
              $($name:ident: $type:ty, $len:expr;)*) => {{
                fill!($(pipeline.$lists.offsets, i64, $num_lists + 1;
                        pipeline.$lists.token_ids, i64, $num_ids;)*);
                fill!($(pipeline.$name, $type, $len;)*);
                let raw = pipeline.raw(ON_CUDA, 7, 7, &rows).unwrap();
                $(
                    let lists = pipeline.$lists;
                    assert_eq!(raw.$lists.offsets as usize, lists.offsets.memory().address as usize);
                    assert_eq!(raw.$lists.token_ids as usize,
                               lists.token_ids.memory().address as usize);
                    assert_eq!((raw.$lists.num_lists, raw.$lists.num_token_ids),
                               ($num_lists, $num_ids));
                )*
                $(assert_eq!(raw.$name as usize, pipeline.$name.memory().address as usize,
                             stringify!($name));)*
                raw
            }};
        }
        pipeline.max_history_tokens = 11;
        pipeline.token_bitmask_rule = MaskRule::Forbids;
        let raw = check_pipeline!(
            { history 7, 70; biased 1, 13; bias_contexts 13, 5; allowed 7, 14; banned 7, 15; stop 1, 16;
                unpenalized 7, 19; bad_words 3, 17; dry_breakers 4, 18; }
            prompt_lengths: i32, 7; guidance_logits: f32, 120; guidance_row_indices: i32, 7;
                biases: f32, 13; dense_bias: f32, 280;
                bad_word_offsets: i64, 8; token_bitmasks: u32, 14; token_bitmask_indices: i32, 7;
                adaptive_values: f32, 28;
        );
        assert_eq!((raw.token_id_type, raw.token_bitmask_rule), (sys::SAMPLER_ID_I64, 1));
        assert_eq!(raw.num_guidance_rows, 3);
        assert_eq!((raw.num_dense_biases, raw.dense_bias_stride), (7, 0));
        assert_eq!((raw.num_token_bitmasks, raw.token_bitmask_stride), (7, 0));
        assert_eq!(raw.max_history_tokens, 11);
        (pipeline.dense_bias_stride, pipeline.token_bitmask_stride) = (140, 7);
        let raw = pipeline.raw(ON_CUDA, 7, 7, &rows).unwrap();
        assert_eq!((raw.num_dense_biases, raw.dense_bias_stride), (2, 140));
        assert_eq!((raw.num_token_bitmasks, raw.token_bitmask_stride), (2, 7));
    }
}
