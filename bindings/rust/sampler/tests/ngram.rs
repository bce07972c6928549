//! N-gram storages, prompt lookup, and the hooks.

use std::alloc::{alloc, dealloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use sampler::*;

fn storage(order: i32) -> NgramStorage {
    NgramStorage::new(NgramStorageOptions {
        order,
        vocabulary_size: 100,
        ..NgramStorageOptions::default()
    })
    .unwrap()
}

fn proposed(ngram: &Ngram, context: &[i32], least_count: usize, least_share: f32) -> Vec<i32> {
    let mut drafts = [-7; 4];
    let count = ngram.propose(context, least_count, least_share, &mut drafts).unwrap();
    drafts[..count].to_vec()
}

#[test]
fn a_storage_counts() {
    let storage = storage(3);
    storage.initialize(&[1, 2, 3, 1, 2, 3, 1, 2, 4]).unwrap();
    assert_eq!(storage.next_token(&[1, 2], 5, 6).unwrap(), (3, true));
    let (unknown, is_known) = storage.next_token(&[50], 5, 6).unwrap();
    assert!(!is_known && (0..100).contains(&unknown));
    assert_eq!(storage.next_token(&[51], 5, 6).unwrap(), (unknown, false));
    assert!(storage.has_gram(&[2, 3]).unwrap());
    assert!(!storage.has_gram(&[4, 3]).unwrap());
    let all = vec![3, 1, 2, 3];
    assert_eq!(proposed(&storage, &[1, 2], 0, 0.0), all);
    assert_eq!(proposed(&storage, &[1, 2], 2, 0.0), all);
    assert_eq!(proposed(&storage, &[1, 2], 3, 0.0), []);
    assert_eq!(proposed(&storage, &[1, 2], 0, 0.6), all);
    assert_eq!(proposed(&storage, &[1, 2], 0, 0.7), []);
    let stats = storage.stats().unwrap();
    assert_eq!((stats.num_contexts, stats.num_updates, stats.num_dropped), (6, 8, 0));
    assert!(stats.memory_bytes > 0);

    let mut data = storage.serialize().unwrap();
    let copy = self::storage(3);
    copy.deserialize(&data).unwrap();
    assert_eq!(proposed(&copy, &[1, 2], 0, 0.0), all);
    *data.last_mut().unwrap() ^= 1;
    assert_eq!(copy.deserialize(&data).unwrap_err().status, Status::CorruptData);
    copy.update(&[3, 1], &[9, 9, 9]).unwrap();
    assert_eq!(copy.next_token(&[3, 1], 0, 0).unwrap(), (9, true));
    copy.reset().unwrap();
    assert_eq!(proposed(&copy, &[1, 2], 0, 0.0), []);
    let error = copy.update(&[1], &[100]).unwrap_err();
    assert_eq!(error.status, Status::InvalidArgument);
    assert!(error.message.contains("100"), "{error}");
    let options = NgramStorageOptions { order: 17, vocabulary_size: 5, ..Default::default() };
    let error = NgramStorage::new(options).unwrap_err();
    assert!(error.message.contains("order is 17"), "{error}");
    let one_level = NgramStorage::new(NgramStorageOptions {
        kind: NgramKind::OneLevel,
        vocabulary_size: 9,
        ..NgramStorageOptions::default()
    })
    .unwrap();
    one_level.initialize(&[1, 2, 3]).unwrap();
    assert!(!one_level.has_gram(&[2]).unwrap());
}

#[test]
fn a_lookup_finds() {
    let lookup = PromptLookup::new(PromptLookupOptions {
        min_match: 2,
        max_match: 3,
        max_tokens: 8,
        vocabulary_size: 10,
        ..PromptLookupOptions::default()
    })
    .unwrap();
    lookup.append(&[1, 2, 3, 4, 1, 2]).unwrap();
    let mut drafts = [0; 3];
    assert_eq!(lookup.propose_next(&mut drafts).unwrap(), 3);
    assert_eq!(drafts, [3, 4, 1]);
    assert_eq!(proposed(&lookup, &[1, 2, 3, 4, 1, 2], 0, 0.0)[..2], [3, 4]);
    assert_eq!(lookup.append(&[1, 2, 3]).unwrap_err().status, Status::InvalidArgument);
    lookup.reset().unwrap();
    assert_eq!(lookup.propose_next(&mut drafts).unwrap(), 0);
}

#[test]
fn caches_are_pruned() {
    let count = prune_count(5, 2).unwrap();
    assert_eq!(count, PruneCount { target: 3, drafter: 2, missing: 0 });
    assert_eq!(prune_count(5, 5).unwrap().missing, 1);
    assert_eq!(prune_count(2, 3).unwrap_err().status, Status::InvalidArgument);
}

#[derive(Default)]
struct Counting {
    bytes: AtomicUsize,
    left: Mutex<Option<usize>>,
}

// SAFETY: the memory is of the global allocator.
unsafe impl Allocator for Counting {
    fn allocate(&self, bytes: usize, alignment: usize) -> *mut u8 {
        if let Some(left) = self.left.lock().unwrap().as_mut() {
            *left = left.checked_sub(1).expect("no memory is left"); // a panic is none
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        // SAFETY: the library asks for some bytes.
        unsafe { alloc(Layout::from_size_align(bytes, alignment).unwrap()) }
    }

    unsafe fn deallocate(&self, memory: *mut u8, bytes: usize, alignment: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        // SAFETY: it came from above.
        unsafe { dealloc(memory, Layout::from_size_align(bytes, alignment).unwrap()) }
    }
}

#[test]
fn memory_comes_from_the_callers_allocator() {
    let counting = Arc::new(Counting::default());
    let bytes = || counting.bytes.load(Ordering::Relaxed);
    let allocator = || Some(counting.clone() as Arc<dyn Allocator>);
    let options =
        || Options { max_rows: 1, max_cols: 9, allocator: allocator(), ..Default::default() };
    let mut sampler = Sampler::new(options()).unwrap();
    let of_sampler = bytes();
    let storage = NgramStorage::new(NgramStorageOptions {
        vocabulary_size: 9,
        allocator: allocator(),
        ..NgramStorageOptions::default()
    })
    .unwrap();
    let of_storage = bytes() - of_sampler;
    storage.initialize(&(0..9).collect::<Vec<_>>()).unwrap();
    let lookup = PromptLookup::new(PromptLookupOptions {
        max_tokens: 10,
        vocabulary_size: 9,
        allocator: allocator(),
        ..PromptLookupOptions::default()
    })
    .unwrap();
    assert!(of_sampler > 0 && of_storage > 0 && bytes() > of_sampler + of_storage + 1000);
    let mut ids = [0];
    sampler.argmax(&Rows::logits(&[0.0f32, 1.0], 1, 2), &mut ids).unwrap();
    assert_eq!(ids, [1]);
    drop((sampler, storage, lookup));
    assert_eq!(bytes(), 0);
    *counting.left.lock().unwrap() = Some(0);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let error = Sampler::new(options()).unwrap_err();
    std::panic::set_hook(hook);
    assert_eq!(error.status, Status::OutOfMemory);
    assert_eq!(bytes(), 0);
}

#[test]
fn tasks_run_where_the_caller_says() {
    let row: Vec<f32> = (0..40).map(|i| (i * 7 % 10) as f32).collect();
    let wanted = [7, 7, 7, 7];
    let mut ids = [0; 4];
    let sampler = |run: ParallelForFunction| {
        let options = Options {
            max_rows: 4,
            max_cols: 10,
            num_threads: 4,
            parallel_for: Some(run),
            ..Options::default()
        };
        Sampler::new(options).unwrap()
    };
    sampler(Box::new(|count, task| {
        std::thread::scope(|scope| {
            for index in 0..count {
                scope.spawn(move || task(index));
            }
        })
    }))
    .argmax(&Rows::logits(&row, 4, 10), &mut ids)
    .unwrap();
    assert_eq!(ids, wanted);
    let error = sampler(Box::new(|count, task| (1..count).for_each(task)))
        .argmax(&Rows::logits(&row, 4, 10), &mut ids)
        .unwrap_err();
    assert_eq!(error.status, Status::Callback);
}
