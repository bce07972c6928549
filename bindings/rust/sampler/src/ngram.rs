//! Drafts without a model: n-gram storages and prompt lookup.

use std::fmt;
use std::ops::Deref;
use std::os::raw::c_void;
use std::ptr::{null_mut, NonNull};
use std::sync::Arc;

use sampler_sys as sys;

use crate::hooks::{Hook, MemoryHook};
use crate::views::to_c;
use crate::{error, Allocator, Error, NgramKind};

enum Memory {
    Storage(NonNull<sys::sampler_ngram_storage>),
    Lookup(NonNull<sys::sampler_prompt_lookup>),
}

struct Shared {
    memory: Memory,
    raw: sys::sampler_ngram,
    // Dropped after the memory.
    _allocator: Option<MemoryHook>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: it is destroyed once, here, when nobody has it any more.
        unsafe {
            match self.memory {
                Memory::Storage(storage) => sys::sampler_ngram_storage_destroy(storage.as_ptr()),
                Memory::Lookup(lookup) => sys::sampler_prompt_lookup_destroy(lookup.as_ptr()),
            }
        }
    }
}

// SAFETY: it is memory, which may move; a call that finds it in another one is refused by the
// library, and allocators are Send and Sync.
unsafe impl Send for Shared {}
unsafe impl Sync for Shared {}

/// Drafts of an [`NgramStorage`] or a [`PromptLookup`], which share their memory with its clones.
///
/// It works on host memory and needs no sampler. A call that finds another thread's in it fails with
/// `InvalidArgument`. A context is a text's end, the latest token last.
#[derive(Clone)]
pub struct Ngram(Arc<Shared>);

impl fmt::Debug for Ngram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ngram").field(&self.0.raw.user).finish()
    }
}

macro_rules! call {
    ($ngram:expr, $function:ident $(, $argument:expr)*) => {{
        let raw = &$ngram.0.raw;
        let function = raw.$function.expect("an interface that the library filled in");
        // SAFETY: its memory is alive, and arrays are as long as is said until the call returns.
        error::check(unsafe { function(raw.user $(, $argument)*) })
    }};
}

impl Ngram {
    fn new(
        memory: Memory,
        allocator: Option<MemoryHook>,
        interface: impl FnOnce(&mut sys::sampler_ngram) -> sys::sampler_status,
    ) -> Result<Self, Error> {
        let mut shared = Shared { memory, raw: sys::sampler_ngram::INIT, _allocator: allocator };
        error::check(interface(&mut shared.raw))?;
        Ok(Ngram(Arc::new(shared)))
    }

    pub(crate) fn raw(&self) -> &sys::sampler_ngram {
        &self.0.raw
    }

    pub(crate) fn is(&self, other: &Ngram) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The likeliest token to follow the end of the context, and whether anything is known there: if
    /// not, the token is drawn from the seed and the offset, uniformly over the vocabulary.
    pub fn next_token(
        &self,
        context: &[i32],
        seed: u64,
        offset: u64,
    ) -> Result<(i32, bool), Error> {
        let (mut token, mut known) = (-1, 0);
        let (tokens, count) = (context.as_ptr(), to_c(context.len()));
        call!(self, next_token, tokens, count, seed, offset, &mut token, &mut known)?;
        Ok((token, known != 0))
    }

    /// Whether a token is known to follow exactly this context, without back-off.
    pub fn has_gram(&self, context: &[i32]) -> Result<bool, Error> {
        let mut has = 0;
        call!(self, has_gram, context.as_ptr(), to_c(context.len()), &mut has)?;
        Ok(has != 0)
    }

    /// Counts each of the next tokens once, in their order, as following the end of the context. A
    /// prompt lookup appends what the context has beyond its text instead.
    pub fn update(&self, context: &[i32], next_token_ids: &[i32]) -> Result<(), Error> {
        let (tokens, count) = (context.as_ptr(), to_c(context.len()));
        call!(self, update, tokens, count, next_token_ids.as_ptr(), to_c(next_token_ids.len()))
    }

    /// Learns a text. What was known stays.
    pub fn initialize(&self, token_ids: &[i32]) -> Result<(), Error> {
        call!(self, initialize, token_ids.as_ptr(), to_c(token_ids.len()))
    }

    /// Writes up to as many tokens as there is room for, each the likeliest after the context and the
    /// tokens before it, and gives how many: up to the first that is unknown, that was counted fewer
    /// than `least_count` times there, or whose share of what followed there is below `least_share`,
    /// in [0, 1]. Limits of 0 are off.
    pub fn propose(
        &self,
        context: &[i32],
        least_count: usize,
        least_share: f32,
        out_token_ids: &mut [i32],
    ) -> Result<usize, Error> {
        let mut count = 0;
        let (tokens, number) = (context.as_ptr(), to_c(context.len()));
        let (drafts, room) = (out_token_ids.as_mut_ptr(), to_c(out_token_ids.len()));
        let least = to_c(least_count);
        call!(self, propose, tokens, number, room, least, least_share, drafts, &mut count)?;
        Ok(count as usize)
    }

    /// Forgets all.
    pub fn reset(&self) -> Result<(), Error> {
        call!(self, reset)
    }
}

/// The options of an [`NgramStorage`].
#[derive(Clone, Default)]
pub struct NgramStorageOptions {
    /// Which n-grams it keeps.
    pub kind: NgramKind,
    /// Tokens of the longest n-gram, in [2, 16]. 0: 3.
    pub order: i32,
    /// Token ids lie in [0, `vocabulary_size`). In [1, 2^20); required.
    pub vocabulary_size: usize,
    /// Bytes that the storage may take at any time, at least 4096. 0: no limit. At the limit known
    /// n-grams still count, others are dropped.
    pub memory_limit: usize,
    /// Memory for the storage. None: the C library's.
    pub allocator: Option<Arc<dyn Allocator>>,
}

/// Numbers of an [`NgramStorage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NgramStats {
    /// Contexts that a token followed, of all lengths kept.
    pub num_contexts: usize,
    /// Next tokens learned, dropped or not.
    pub num_updates: usize,
    /// N-grams that were not counted for want of room.
    pub num_dropped: usize,
    /// What the storage takes of its allocator now.
    pub memory_bytes: usize,
}

/// Counts of which token followed which context, over any number of texts.
#[derive(Debug)]
pub struct NgramStorage(Ngram);

impl Deref for NgramStorage {
    type Target = Ngram;

    fn deref(&self) -> &Ngram {
        &self.0
    }
}

impl NgramStorage {
    /// An empty storage.
    pub fn new(options: NgramStorageOptions) -> Result<Self, Error> {
        error::ensure_loaded()?;
        let allocator = options.allocator.map(Hook::new);
        let raw = sys::sampler_ngram_storage_options {
            kind: options.kind.raw(),
            order: options.order,
            vocabulary_size: to_c(options.vocabulary_size),
            memory_limit: to_c(options.memory_limit),
            allocator: MemoryHook::raw(&allocator),
            ..sys::sampler_ngram_storage_options::INIT
        };
        let mut storage = null_mut();
        // SAFETY: the options are set up, and the allocator lives as long as the storage.
        error::check(unsafe { sys::sampler_ngram_storage_create(&raw, &mut storage) })?;
        let storage = NonNull::new(storage).expect("a storage that was created");
        Ngram::new(Memory::Storage(storage), allocator, |interface| {
            // SAFETY: the storage is alive, and the struct says how large it is.
            unsafe { sys::sampler_ngram_storage_interface(storage.as_ptr(), interface) }
        })
        .map(NgramStorage)
    }

    fn handle(&self) -> *mut sys::sampler_ngram_storage {
        match self.0 .0.memory {
            Memory::Storage(storage) => storage.as_ptr(),
            Memory::Lookup(_) => unreachable!("a storage"),
        }
    }

    /// Its numbers.
    pub fn stats(&self) -> Result<NgramStats, Error> {
        let mut raw = sys::sampler_ngram_storage_stats::INIT;
        // SAFETY: it is alive, and fills a struct of the size that it says.
        error::check(unsafe { sys::sampler_ngram_storage_get_stats(self.handle(), &mut raw) })?;
        Ok(NgramStats {
            num_contexts: raw.num_contexts as usize,
            num_updates: raw.num_updates as usize,
            num_dropped: raw.num_dropped as usize,
            memory_bytes: raw.memory_bytes as usize,
        })
    }

    /// The contents, in a format that is the same on every machine.
    pub fn serialize(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = 0;
        // SAFETY: it is alive, and without a buffer only the number is written.
        let status = unsafe {
            sys::sampler_ngram_storage_serialize(self.handle(), null_mut(), 0, &mut bytes)
        };
        error::check(status)?;
        let mut buffer = vec![0u8; bytes];
        let (memory, room) = (buffer.as_mut_ptr().cast::<c_void>(), buffer.len());
        // SAFETY: the buffer is as long as is said.
        let status = unsafe {
            sys::sampler_ngram_storage_serialize(self.handle(), memory, room, &mut bytes)
        };
        error::check(status)?;
        buffer.truncate(bytes);
        Ok(buffer)
    }

    /// Replaces the contents by serialised ones. Every byte is checked; on failure, such as
    /// `CorruptData`, the contents are as before.
    pub fn deserialize(&self, data: &[u8]) -> Result<(), Error> {
        let (memory, bytes) = (data.as_ptr().cast(), data.len());
        // SAFETY: it is alive, and the data are as long as is said.
        error::check(unsafe {
            sys::sampler_ngram_storage_deserialize(self.handle(), memory, bytes)
        })
    }
}

/// The options of a [`PromptLookup`].
#[derive(Clone, Default)]
pub struct PromptLookupOptions {
    /// Tokens of the text's end that must match, at least 1. 0: 1.
    pub min_match: usize,
    /// Tokens of the text's end that are looked at, at least `min_match`. 0: all.
    pub max_match: usize,
    /// Room for the text, in [1, 2^27], of 132 bytes a token; required.
    pub max_tokens: usize,
    /// Token ids lie in [0, `vocabulary_size`). In [1, 2^20); required.
    pub vocabulary_size: usize,
    /// Memory for the lookup. None: the C library's.
    pub allocator: Option<Arc<dyn Allocator>>,
}

/// One growing text. It knows what followed the longest earlier occurrence of the text's end. As an
/// [`Ngram`] it is of one sequence: contexts begin with the text.
#[derive(Debug)]
pub struct PromptLookup(Ngram);

impl Deref for PromptLookup {
    type Target = Ngram;

    fn deref(&self) -> &Ngram {
        &self.0
    }
}

impl PromptLookup {
    /// A lookup with an empty text.
    pub fn new(options: PromptLookupOptions) -> Result<Self, Error> {
        error::ensure_loaded()?;
        let allocator = options.allocator.map(Hook::new);
        let raw = sys::sampler_prompt_lookup_options {
            min_match: to_c(options.min_match),
            max_match: to_c(options.max_match),
            max_tokens: to_c(options.max_tokens),
            vocabulary_size: to_c(options.vocabulary_size),
            allocator: MemoryHook::raw(&allocator),
            ..sys::sampler_prompt_lookup_options::INIT
        };
        let mut lookup = null_mut();
        // SAFETY: as of a storage.
        error::check(unsafe { sys::sampler_prompt_lookup_create(&raw, &mut lookup) })?;
        let lookup = NonNull::new(lookup).expect("a lookup that was created");
        Ngram::new(Memory::Lookup(lookup), allocator, |interface| {
            // SAFETY: as of a storage.
            unsafe { sys::sampler_prompt_lookup_interface(lookup.as_ptr(), interface) }
        })
        .map(PromptLookup)
    }

    fn handle(&self) -> *mut sys::sampler_prompt_lookup {
        match self.0 .0.memory {
            Memory::Lookup(lookup) => lookup.as_ptr(),
            Memory::Storage(_) => unreachable!("a lookup"),
        }
    }

    /// Appends tokens to the text: all or, where they are more than there is room for, none.
    pub fn append(&self, token_ids: &[i32]) -> Result<(), Error> {
        let (tokens, count) = (token_ids.as_ptr(), to_c(token_ids.len()));
        // SAFETY: it is alive, and the tokens are as many as is said.
        error::check(unsafe { sys::sampler_prompt_lookup_append(self.handle(), tokens, count) })
    }

    /// Writes up to as many tokens as there is room for that followed the match of the text's end,
    /// and gives how many. 0: no match of at least `min_match` tokens.
    pub fn propose_next(&self, out_token_ids: &mut [i32]) -> Result<usize, Error> {
        let mut count = 0;
        let (drafts, room) = (out_token_ids.as_mut_ptr(), to_c(out_token_ids.len()));
        // SAFETY: it is alive, and there is as much room as is said.
        error::check(unsafe {
            sys::sampler_prompt_lookup_propose(self.handle(), room, drafts, &mut count)
        })?;
        Ok(count as usize)
    }
}

/// What to cut off caches after a round of drafts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PruneCount {
    /// Tokens at the end of the target's cache.
    pub target: usize,
    /// Tokens at the end of the drafter's.
    pub drafter: usize,
    /// Drafts that were kept and that the drafter has not been fed, 0 or 1.
    pub missing: usize,
}

/// What to cut off caches after a round of `num_drafted` drafts of which the first `num_emitted`, at
/// most all, were kept: the target was fed all of them, the drafter all but the last.
pub fn prune_count(num_drafted: usize, num_emitted: usize) -> Result<PruneCount, Error> {
    error::ensure_loaded()?;
    let (mut target, mut drafter, mut missing) = (0, 0, 0);
    let (drafted, emitted) = (to_c(num_drafted), to_c(num_emitted));
    // SAFETY: it writes three numbers.
    error::check(unsafe {
        sys::sampler_prune_count(drafted, emitted, &mut target, &mut drafter, &mut missing)
    })?;
    Ok(PruneCount { target: target as usize, drafter: drafter as usize, missing: missing as usize })
}
