//! What is remembered of sequences.

use std::fmt;
use std::os::raw::c_void;
use std::ptr::{null_mut, NonNull};
use std::sync::Arc;

use sampler_sys as sys;

use crate::array::{reborrow, Array, ArrayMut, Id, Lent};
use crate::check::Place;
use crate::constants::{RowStatus, TokenKind, NUM_ADAPTIVE_VALUES};
use crate::handle::Owner;
use crate::views::{or, to_c, Exec, Params, RowParams, TokenLists};
use crate::{error, Error, Sampler};

/// What a [`State`] is made with.
#[derive(Clone, Copy, Debug, Default)]
pub struct StateOptions {
    /// How many sequences there is room for, in [1, 2^31).
    pub num_slots: usize,
    /// The longest sequence, its prompt included, in [1, 2^31).
    pub max_tokens: usize,
    /// For how many distinct tokens of a slot counts are kept, 20 bytes each, in [0, `max_tokens`];
    /// 0: a quarter of `max_tokens`, but 64 where that is more, and at most `max_tokens`. From the
    /// first token that has no room on, a sequence is counted in each draw, which takes longer.
    pub max_distinct_tokens: usize,
    /// Keeps the adaptive values after each token, 16 bytes each, so that
    /// [`truncate`](State::truncate) restores them.
    pub keep_adaptive_values: bool,
}

impl StateOptions {
    fn raw(&self) -> sys::sampler_state_options {
        sys::sampler_state_options {
            num_slots: to_c(self.num_slots),
            max_tokens: to_c(self.max_tokens),
            max_distinct_tokens: to_c(self.max_distinct_tokens),
            keep_adaptive_values: self.keep_adaptive_values.into(),
            ..sys::sampler_state_options::INIT
        }
    }
}

/// What is remembered of sequences, a slot for each: their tokens, where the prompt ends, how often
/// each token has occurred, and the values of adaptive stages.
///
/// [`Pipeline::state`](crate::Pipeline::state) gives it to a draw. What was drawn enters by
/// [`accept`](State::accept) only, so drawing twice changes nothing.
///
/// Each call takes the sampler that the state was made with, and is refused with another one. It
/// allocates nothing, but for [`serialize`](State::serialize). A bad slot makes its row bad; a bad
/// row changes nothing. A slot that a call which changes it names twice has undefined contents.
///
/// A state keeps the threads and the workspace of a sampler that was dropped before it.
pub struct State {
    handle: NonNull<sys::sampler_state>,
    num_slots: usize,
    // Let go of after the state is destroyed.
    _owner: Arc<Owner>,
}

// SAFETY: it is memory, which the library changes only where it is borrowed exclusively, and reads
// where it is borrowed.
unsafe impl Send for State {}
unsafe impl Sync for State {}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: it is destroyed once, here, before its sampler, and no call has it.
        unsafe { sys::sampler_state_destroy(self.handle.as_ptr()) }
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("num_slots", &self.num_slots).finish_non_exhaustive()
    }
}

/// Arguments of [`State::append`].
#[derive(Debug, Default)]
pub struct AppendArgs<'a> {
    /// Where the call runs. No call of a state needs a workspace.
    pub exec: Exec<'a>,
    /// `[num_rows]` The slot of each row. None: row i has slot i.
    pub slots: Array<'a, i32>,
    /// 0: as many as `slots` has.
    pub num_rows: usize,
    /// A list for each row. All of a row's tokens are appended, or none: its offsets must be a
    /// list's, the tokens fit, and the ids lie in [0, 2^31).
    pub tokens: TokenLists<'a>,
    /// Prompt tokens after an output token make the row bad.
    pub token_kind: TokenKind,
    /// `[num_rows]` How many tokens each slot has afterwards; -1 for a bad slot.
    pub out_lengths: ArrayMut<'a, i32>,
    /// `[num_rows]` Why a row is bad.
    pub out_row_status: ArrayMut<'a, RowStatus>,
}

/// Arguments of [`State::accept`].
#[derive(Debug, Default)]
pub struct AcceptArgs<'a> {
    /// Where the call runs.
    pub exec: Exec<'a>,
    /// `[num_rows]` The slot of each row. None: row i has slot i.
    pub slots: Array<'a, i32>,
    /// 0: as many as `slots` has.
    pub num_rows: usize,
    /// `[num_rows, num_tokens]` `out_token_ids` of the draw (`num_tokens` 1) or of verification. A
    /// row ends at its first negative id; where its first id is negative nothing happens. All of a
    /// row's tokens are taken, or none: they must fit, their ids be below 2^31, and the slot's
    /// numbers of adaptive stages good.
    pub token_ids: Array<'a, Id>,
    /// In [1, 2^20]. 0: 1.
    pub num_tokens: usize,
    /// `[num_rows, num_tokens]` `out_observations` of the call that drew the tokens. One that is NaN
    /// moves neither mirostat nor adaptive-p. None: all are.
    pub observations: Array<'a, f32>,
    /// Those of that call, of which the adaptive stage, `top_p` and its decay are read.
    pub params: Params,
    /// Those of that call, indexed by the slots of this one: as many as the state has.
    pub row_params: RowParams<'a>,
    /// `[slots of the state]` In and out: each grows by the tokens that its slot took. None: they
    /// are the caller's business.
    pub offsets: ArrayMut<'a, u64>,
    /// `[num_rows]` How many tokens each slot has afterwards; -1 for a bad slot.
    pub out_lengths: ArrayMut<'a, i32>,
    /// `[num_rows]` Why a row is bad.
    pub out_row_status: ArrayMut<'a, RowStatus>,
}

/// Arguments of [`State::truncate`].
#[derive(Debug, Default)]
pub struct TruncateArgs<'a> {
    /// Where the call runs.
    pub exec: Exec<'a>,
    /// `[num_rows]` The slot of each row. None: row i has slot i.
    pub slots: Array<'a, i32>,
    /// 0: as many as `slots` has.
    pub num_rows: usize,
    /// `[num_rows]` How many tokens to keep. More than there are: all; negative: none. Required.
    pub lengths: Array<'a, i32>,
    /// `[num_rows]` Why a row is bad.
    pub out_row_status: ArrayMut<'a, RowStatus>,
}

/// Arguments of [`State::copy`].
#[derive(Debug, Default)]
pub struct CopyArgs<'a> {
    /// Where the call runs.
    pub exec: Exec<'a>,
    /// Whose sequences are copied: another state of the same sampler. None: the state's own.
    pub source: Option<&'a State>,
    /// `[rows]` A source may serve many rows. Required.
    pub source_slots: Array<'a, i32>,
    /// `[rows]` Within one state none may be a source of another row. Its length is the number of
    /// rows. Required.
    pub destination_slots: Array<'a, i32>,
    /// `[rows]` Why a row is bad. `STATE_FULL`: the source's tokens do not
    /// fit in the destination, which is as it was.
    pub out_row_status: ArrayMut<'a, RowStatus>,
}

/// Arguments of [`State::reset`].
#[derive(Debug, Default)]
pub struct ResetArgs<'a> {
    /// Where the call runs.
    pub exec: Exec<'a>,
    /// `[num_rows]` The slot of each row. None, and `num_rows` 0: every slot, and no array is read
    /// or written.
    pub slots: Array<'a, i32>,
    /// 0: as many as `slots` has.
    pub num_rows: usize,
    /// `[num_rows, NUM_ADAPTIVE_VALUES]` To begin with; a NaN is the start of its stage, an infinity
    /// makes the row bad. None: all start.
    pub adaptive_values: Array<'a, f32>,
    /// `[num_rows]` Why a row is bad.
    pub out_row_status: ArrayMut<'a, RowStatus>,
}

/// Arguments of [`State::read`].
#[derive(Debug, Default)]
pub struct ReadArgs<'a> {
    /// Where the call runs.
    pub exec: Exec<'a>,
    /// `[num_rows]` The slot of each row. None: row i has slot i.
    pub slots: Array<'a, i32>,
    /// 0: as many as `slots` has.
    pub num_rows: usize,
    /// `[num_rows, num_tokens]` The first tokens of each slot, then -1.
    pub out_token_ids: ArrayMut<'a, Id>,
    /// In [0, 2^31).
    pub num_tokens: usize,
    /// `[num_rows]` How many tokens each slot has; -1 for a bad slot.
    pub out_lengths: ArrayMut<'a, i32>,
    /// `[num_rows]` How many of them are the prompt; -1 for a bad slot.
    pub out_prompt_lengths: ArrayMut<'a, i32>,
    /// `[num_rows, NUM_ADAPTIVE_VALUES]` NaN where a stage has not begun.
    pub out_adaptive_values: ArrayMut<'a, f32>,
    /// `[num_rows]` Why a row is bad.
    pub out_row_status: ArrayMut<'a, RowStatus>,
}

reborrow!(AppendArgs AcceptArgs TruncateArgs CopyArgs ResetArgs ReadArgs);

/// Slots for C, and how many rows there are.
fn rows(place: Place, slots: &Array<i32>, num_rows: usize) -> Result<(*mut i32, usize), Error> {
    let num_rows = or(num_rows, slots.memory().len);
    Ok((place.array("", "slots", slots, num_rows)?, num_rows))
}

impl State {
    /// Makes a state of empty slots.
    ///
    /// Fails with `InvalidArgument`, `OutOfMemory` or `Cuda`.
    pub fn new(sampler: &mut Sampler, options: StateOptions) -> Result<State, Error> {
        let mut handle = null_mut();
        // SAFETY: the sampler is alive and serves no other call, and the options are set up.
        error::check(unsafe {
            sys::sampler_state_create(sampler.handle.as_ptr(), &options.raw(), &mut handle)
        })?;
        Ok(State {
            handle: NonNull::new(handle).expect("a state that was created"),
            num_slots: options.num_slots,
            _owner: sampler.owner.clone(),
        })
    }

    /// How many bytes of memory such a state takes.
    pub fn size(sampler: &mut Sampler, options: StateOptions) -> Result<usize, Error> {
        let mut bytes = 0;
        // SAFETY: as above.
        error::check(unsafe {
            sys::sampler_state_size(sampler.handle.as_ptr(), &options.raw(), &mut bytes)
        })?;
        Ok(bytes)
    }

    /// For C, which changes it in the calls below alone.
    pub(crate) fn raw(&self) -> sys::sampler_state_t {
        self.handle.as_ptr()
    }

    /// Appends a prompt, or text that was not drawn here. Adaptive values stay as they are.
    pub fn append(&mut self, sampler: &mut Sampler, args: &AppendArgs<'_>) -> Result<(), Error> {
        let place = sampler.place;
        let (slots, num_rows) = rows(place, &args.slots, args.num_rows)?;
        let raw = sys::sampler_state_append_args {
            exec: args.exec.raw(place)?,
            state: self.raw(),
            slots,
            num_rows: to_c(num_rows),
            tokens: args.tokens.raw(place, "tokens")?,
            token_id_type: args.tokens.token_ids.memory().element,
            token_kind: args.token_kind.raw(),
            out_lengths: place.array("", "out_lengths", &args.out_lengths, num_rows)?,
            out_row_status: place.array("", "out_row_status", &args.out_row_status, num_rows)?,
            ..sys::sampler_state_append_args::INIT
        };
        // SAFETY: the sampler is alive and serves no other call, and the state is in none, since
        // both are borrowed exclusively. The arrays are as long as the struct says, on the right
        // side, alive and, if written, borrowed exclusively.
        error::check(unsafe { sys::sampler_state_append(sampler.handle.as_ptr(), &raw) })
    }

    /// Accepts what was drawn: the tokens enter text and counts, and adaptive values move on.
    pub fn accept(&mut self, sampler: &mut Sampler, args: &AcceptArgs<'_>) -> Result<(), Error> {
        let place = sampler.place;
        let (slots, num_rows) = rows(place, &args.slots, args.num_rows)?;
        let num_tokens = or(args.num_tokens, 1);
        let tokens = num_rows.saturating_mul(num_tokens);
        let params = args.params.raw();
        let row_params = args.row_params.raw(place, self.num_slots)?;
        let raw = sys::sampler_accept_args {
            exec: args.exec.raw(place)?,
            state: self.raw(),
            slots,
            num_rows: to_c(num_rows),
            token_ids: place.array("", "token_ids", &args.token_ids, tokens)?,
            num_tokens: to_c(num_tokens),
            token_id_type: args.token_ids.memory().element,
            observations: place.array("", "observations", &args.observations, tokens)?,
            params: &params,
            row_params: &row_params,
            offsets: place.array("", "offsets", &args.offsets, self.num_slots)?,
            out_lengths: place.array("", "out_lengths", &args.out_lengths, num_rows)?,
            out_row_status: place.array("", "out_row_status", &args.out_row_status, num_rows)?,
            ..sys::sampler_accept_args::INIT
        };
        // SAFETY: as above; the parameters live until the call returns.
        error::check(unsafe { sys::sampler_accept(sampler.handle.as_ptr(), &raw) })
    }

    /// Forgets the tokens after the first `lengths`, as if they had never come. Prompts may be cut,
    /// too.
    pub fn truncate(
        &mut self,
        sampler: &mut Sampler,
        args: &TruncateArgs<'_>,
    ) -> Result<(), Error> {
        let place = sampler.place;
        let (slots, num_rows) = rows(place, &args.slots, args.num_rows)?;
        let raw = sys::sampler_state_truncate_args {
            exec: args.exec.raw(place)?,
            state: self.raw(),
            slots,
            num_rows: to_c(num_rows),
            lengths: place.array("", "lengths", &args.lengths, num_rows)?,
            out_row_status: place.array("", "out_row_status", &args.out_row_status, num_rows)?,
            ..sys::sampler_state_truncate_args::INIT
        };
        // SAFETY: as above.
        error::check(unsafe { sys::sampler_state_truncate(sampler.handle.as_ptr(), &raw) })
    }

    /// Copies sequences into slots of this state: beams, several continuations of a prompt, a larger
    /// state. Adaptive values of earlier tokens are copied where both states keep them; where only
    /// this one does, they are the source's present ones.
    pub fn copy(&mut self, sampler: &mut Sampler, args: &CopyArgs<'_>) -> Result<(), Error> {
        let place = sampler.place;
        let (from, to) = (&args.source_slots, &args.destination_slots);
        let num_rows = to.memory().len;
        let raw = sys::sampler_state_copy_args {
            exec: args.exec.raw(place)?,
            source: args.source.map_or(self.raw(), State::raw),
            destination: self.raw(),
            source_slots: place.array("", "source_slots", from, num_rows)?,
            destination_slots: place.array("", "destination_slots", to, num_rows)?,
            num_rows: to_c(num_rows),
            out_row_status: place.array("", "out_row_status", &args.out_row_status, num_rows)?,
            ..sys::sampler_state_copy_args::INIT
        };
        // SAFETY: as above; the source, borrowed, is not changed.
        error::check(unsafe { sys::sampler_state_copy(sampler.handle.as_ptr(), &raw) })
    }

    /// Empties slots for new sequences.
    pub fn reset(&mut self, sampler: &mut Sampler, args: &ResetArgs<'_>) -> Result<(), Error> {
        let place = sampler.place;
        let (slots, num_rows) = rows(place, &args.slots, args.num_rows)?;
        let values = num_rows.saturating_mul(NUM_ADAPTIVE_VALUES);
        let raw = sys::sampler_state_reset_args {
            exec: args.exec.raw(place)?,
            state: self.raw(),
            slots,
            num_rows: to_c(num_rows),
            adaptive_values: place.array("", "adaptive_values", &args.adaptive_values, values)?,
            out_row_status: place.array("", "out_row_status", &args.out_row_status, num_rows)?,
            ..sys::sampler_state_reset_args::INIT
        };
        // SAFETY: as above.
        error::check(unsafe { sys::sampler_state_reset(sampler.handle.as_ptr(), &raw) })
    }

    /// Writes what slots hold.
    pub fn read(&self, sampler: &mut Sampler, args: &ReadArgs<'_>) -> Result<(), Error> {
        let place = sampler.place;
        let (slots, num_rows) = rows(place, &args.slots, args.num_rows)?;
        let (prompts, values) = (&args.out_prompt_lengths, &args.out_adaptive_values);
        let num_values = num_rows.saturating_mul(NUM_ADAPTIVE_VALUES);
        let tokens = num_rows.saturating_mul(args.num_tokens);
        let raw = sys::sampler_state_read_args {
            exec: args.exec.raw(place)?,
            state: self.raw(),
            slots,
            num_rows: to_c(num_rows),
            out_token_ids: place.array("", "out_token_ids", &args.out_token_ids, tokens)?,
            num_tokens: to_c(args.num_tokens),
            token_id_type: args.out_token_ids.memory().element,
            out_lengths: place.array("", "out_lengths", &args.out_lengths, num_rows)?,
            out_prompt_lengths: place.array("", "out_prompt_lengths", prompts, num_rows)?,
            out_adaptive_values: place.array("", "out_adaptive_values", values, num_values)?,
            out_row_status: place.array("", "out_row_status", &args.out_row_status, num_rows)?,
            ..sys::sampler_state_read_args::INIT
        };
        // SAFETY: as above; the state, borrowed, is not changed.
        error::check(unsafe { sys::sampler_state_read(sampler.handle.as_ptr(), &raw) })
    }

    /// The sequences of slots [`first_slot`, `first_slot + num_slots`), in a format that is the same
    /// on every machine.
    pub fn serialize(
        &self,
        sampler: &mut Sampler,
        first_slot: usize,
        num_slots: usize,
    ) -> Result<Vec<u8>, Error> {
        let (sampler, first_slot, num_slots) =
            (sampler.handle.as_ptr(), to_c(first_slot), to_c(num_slots));
        let write = |buffer: *mut c_void, len: usize| {
            let mut bytes = 0;
            // SAFETY: as above, and the buffer has this length.
            error::check(unsafe {
                sys::sampler_state_serialize(
                    sampler,
                    self.raw(),
                    first_slot,
                    num_slots,
                    buffer,
                    len,
                    &mut bytes,
                )
            })?;
            Ok(bytes)
        };
        let mut data = vec![0; write(null_mut(), 0)?];
        write(data.as_mut_ptr().cast(), data.len())?;
        Ok(data)
    }

    /// Puts serialised sequences into the slots from `first_slot` on, in place of what they hold,
    /// and gives how many slots that were. Every byte is checked; on failure all slots are as
    /// before.
    ///
    /// Fails with `InvalidArgument` (more slots or longer sequences than the state has room for) or
    /// `CorruptData`.
    pub fn deserialize(
        &mut self,
        sampler: &mut Sampler,
        first_slot: usize,
        data: &[u8],
    ) -> Result<usize, Error> {
        let (mut num_slots, at) = (0, to_c(first_slot));
        let (bytes, len) = (data.as_ptr().cast(), data.len());
        // SAFETY: as above, and the data have this length.
        error::check(unsafe {
            let sampler = sampler.handle.as_ptr();
            sys::sampler_state_deserialize(sampler, self.raw(), at, bytes, len, &mut num_slots)
        })?;
        Ok(num_slots as usize)
    }
}
