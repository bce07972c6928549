//! Replays the recorded calls of tests/vectors. Their README.md explains the files.
//!
//! With SAMPLER_TEST_DEVICE_REACHES_HOST in the environment, on a CUDA device that reaches the memory of
//! its program: there the arrays are given by their addresses.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{env, fs};

use sampler::*;

mod json;
use json::Json;

// ---- Arrays -------------------------------------------------------------------------------------

#[derive(Clone, Debug)]
enum Buffer {
    F32(Vec<f32>),
    F16(Vec<F16>),
    Bf16(Vec<Bf16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U32(Vec<u32>),
    U64(Vec<u64>),
}

/// `$body`, whatever the type of the vector.
macro_rules! with_values {
    ($buffer:expr, $values:ident => $body:expr) => {
        match $buffer {
            Buffer::F32($values) => $body,
            Buffer::F16($values) => $body,
            Buffer::Bf16($values) => $body,
            Buffer::I32($values) => $body,
            Buffer::I64($values) => $body,
            Buffer::U32($values) => $body,
            Buffer::U64($values) => $body,
        }
    };
}

impl Buffer {
    /// Element i has the bits `bits[i]`.
    fn new(kind: &str, bits: &[u64]) -> Buffer {
        let bits = bits.iter().copied();
        match kind {
            "f32" => Buffer::F32(bits.map(|bits| f32::from_bits(bits as u32)).collect()),
            "f16" => Buffer::F16(bits.map(|bits| F16(bits as u16)).collect()),
            "bf16" => Buffer::Bf16(bits.map(|bits| Bf16(bits as u16)).collect()),
            "i32" => Buffer::I32(bits.map(|bits| bits as i32).collect()),
            "i64" => Buffer::I64(bits.map(|bits| bits as i64).collect()),
            "u32" => Buffer::U32(bits.map(|bits| bits as u32).collect()),
            "u64" => Buffer::U64(bits.collect()),
            other => panic!("an array of type {other}"),
        }
    }

    fn read(json: &Json) -> Buffer {
        let data = json["data"].array().iter();
        let bits: Vec<_> = data.map(|element| element.integer() as u64).collect();
        Buffer::new(json["type"].text(), &bits)
    }

    /// An output of the same length as it is before the call.
    fn untouched(json: &Json) -> Buffer {
        let bits = vec![0xcdcd_cdcd_cdcd_cdcd; json["data"].array().len()];
        Buffer::new(json["type"].text(), &bits)
    }

    fn len(&self) -> usize {
        with_values!(self, values => values.len())
    }

    /// Takes one element off.
    fn shorten(&mut self) {
        with_values!(self, values => values.truncate(values.len() - 1));
    }

    /// Equal values of f32 may have different bits, and NaN differs from itself.
    fn bytes(&self) -> &[u8] {
        // SAFETY: numbers have no padding.
        with_values!(self, values => unsafe { values.align_to().1 })
    }
}

fn on_device() -> bool {
    env::var_os("SAMPLER_TEST_DEVICE_REACHES_HOST").is_some()
}

/// A buffer, and whether it is lent by its address, as device memory.
struct Lent<B>(B, bool);

/// What may be lent as an array of `$t`.
macro_rules! buffers {
    ($($t:ty: $($variant:ident)*;)*) => {$(
        impl<'a> From<Lent<&'a Buffer>> for Array<'a, $t> {
            fn from(Lent(buffer, on_device): Lent<&'a Buffer>) -> Self {
                match buffer {
                    // SAFETY: a call has done its work when it returns; the buffer outlives it.
                    $(Buffer::$variant(values) if on_device => unsafe {
                        Array::device(values.as_ptr(), values.len())
                    },)*
                    $(Buffer::$variant(values) => values.into(),)*
                    other => panic!("{} of {other:?}", stringify!($t)),
                }
            }
        }

        impl<'a> From<Lent<&'a mut Buffer>> for ArrayMut<'a, $t> {
            fn from(Lent(buffer, on_device): Lent<&'a mut Buffer>) -> Self {
                match buffer {
                    // SAFETY: as above.
                    $(Buffer::$variant(values) if on_device => unsafe {
                        ArrayMut::device(values.as_mut_ptr(), values.len())
                    },)*
                    $(Buffer::$variant(values) => values.into(),)*
                    other => panic!("{} of {other:?}", stringify!($t)),
                }
            }
        }
    )*};
}

buffers! {
    Real: F32 F16 Bf16;
    Id: I32 I64;
    f32: F32;
    i32: I32;
    u32: U32;
    u64: U64;
}

// ---- Cases --------------------------------------------------------------------------------------

type Buffers = BTreeMap<String, Buffer>;

struct Case<'a> {
    json: &'a Json,
    host_parameters: bool,
    inputs: Buffers,
    outputs: Buffers,
}

impl<'a> Case<'a> {
    fn read(json: &'a Json) -> Self {
        let (inputs, outputs) = (json["inputs"].object(), json["outputs"].object());
        let is_output = |name: &str| json["outputs"].get(name).is_some();
        let inputs = inputs.iter().filter(|(name, _)| !is_output(name));
        let outputs = outputs.iter().map(|(name, after)| {
            let before = json["inputs"].get(name);
            let buffer = before.map_or_else(|| Buffer::untouched(after), Buffer::read);
            (name.clone(), buffer)
        });
        Case {
            json,
            host_parameters: false,
            inputs: inputs.map(|(name, json)| (name.clone(), Buffer::read(json))).collect(),
            outputs: outputs.collect(),
        }
    }

    /// An element type that does not exist, and a number of elements without an array: there is no
    /// way to say so in Rust.
    fn cannot_be_written(&self) -> bool {
        let is_missing = |array: &str| !self.inputs.contains_key(array);
        self.json["args"].object().iter().any(|(name, value)| {
            let array = name.replace("num_", "");
            (name.ends_with("dtype") && value.integer() > 2)
                || (is_count(name) && is_missing(&array))
        })
    }

    fn sampler(&self, has_workspace: bool, num_threads: i32) -> Sampler {
        let (max_rows, max_cols) = if has_workspace { (16, 1500) } else { (0, 0) };
        let options = self.json.get("options");
        Sampler::new(Options {
            device_type: if on_device() { DeviceType::CUDA } else { DeviceType::CPU },
            num_threads,
            max_rows,
            max_cols,
            host_parameters: self.host_parameters,
            fallback_token_id: options.map(|options| options["fallback_token_id"].integer()),
            ..Options::default()
        })
        .unwrap()
    }

    fn check(&self, result: Result<(), Error>) {
        let name = self.json["name"].text();
        let status = self.json["status"].integer() as i32;
        match result {
            Ok(()) => assert_eq!(status, 0, "{name}"),
            Err(error) => {
                assert_eq!(error.status.raw(), status, "{name}");
                assert_eq!(error.message, self.json["error"].text(), "{name}");
            }
        }
        for (output, buffer) in &self.outputs {
            let expected = Buffer::read(&self.json["outputs"][output]);
            assert_eq!(buffer.bytes(), expected.bytes(), "{name}: {output}");
        }
    }

    fn members(&mut self) -> Members<'_> {
        Members {
            host_parameters: self.host_parameters,
            args: self.json["args"].object(),
            inputs: &self.inputs,
            outputs: RefCell::new(self.outputs.iter_mut().collect()),
            asked: RefCell::default(),
        }
    }
}

/// Numbers that the binding takes from the length of an array.
fn is_count(member: &str) -> bool {
    matches!(member, "random.num_seeds" | "random.num_offsets" | "num_row_indices")
}

/// What `host_parameters` is about.
fn is_parameter(member: &str) -> bool {
    ["row_params.", "random.", "selected_counts"].iter().any(|start| member.starts_with(start))
}

/// The members of a case, to be asked for by name.
struct Members<'a> {
    host_parameters: bool,
    args: &'a [(String, Json)],
    inputs: &'a Buffers,
    outputs: RefCell<BTreeMap<&'a String, &'a mut Buffer>>,
    asked: RefCell<BTreeSet<String>>,
}

impl<'a> Members<'a> {
    fn get(&self, name: &str) -> Option<i64> {
        self.asked.borrow_mut().insert(name.into());
        let member = self.args.iter().find(|(member, _)| member == name);
        member.map(|(_, value)| value.integer())
    }

    fn number(&self, name: &str) -> i64 {
        self.get(name).unwrap_or(0)
    }

    fn size(&self, name: &str) -> usize {
        self.number(name) as usize
    }

    fn constant(&self, name: &str) -> i32 {
        self.number(name) as i32
    }

    fn float(&self, name: &str, default: f32) -> f32 {
        self.get(name).map_or(default, |bits| f32::from_bits(bits as u32))
    }

    fn input<T>(&self, name: &str) -> Array<'a, T>
    where
        Array<'a, T>: From<Lent<&'a Buffer>>,
    {
        self.asked.borrow_mut().insert(name.into());
        let on_device = on_device() && !(self.host_parameters && is_parameter(name));
        let buffer = self.inputs.get(name);
        buffer.map_or_else(Array::default, |buffer| Lent(buffer, on_device).into())
    }

    fn output<T>(&self, name: &str) -> ArrayMut<'a, T>
    where
        ArrayMut<'a, T>: From<Lent<&'a mut Buffer>>,
    {
        let buffer = self.outputs.borrow_mut().remove(&name.to_string());
        buffer.map_or_else(ArrayMut::default, |buffer| Lent(buffer, on_device()).into())
    }

    fn rows(&self, view: &str) -> Rows<'a> {
        let name = |member: &str| format!("{view}.{member}");
        Rows {
            values: self.input(&name("values")),
            num_rows: self.size(&name("num_rows")),
            num_cols: self.size(&name("num_cols")),
            row_stride: self.size(&name("row_stride")),
            candidate_ids: self.input(&name("candidate_ids")),
            candidate_counts: self.input(&name("candidate_counts")),
            kind: InputKind::from_raw(self.constant(&name("kind"))),
        }
    }

    fn draft(&self) -> Option<Rows<'a>> {
        let is_given = self.args.iter().any(|(name, _)| name.starts_with("draft."));
        is_given.then(|| self.rows("draft"))
    }

    fn params(&self) -> Params {
        let default = Params::default();
        Params {
            temperature: self.float("params.temperature", default.temperature),
            top_p: self.float("params.top_p", default.top_p),
            min_p: self.float("params.min_p", default.min_p),
            top_k: self.constant("params.top_k"),
            top_k_ties: TieRule::from_raw(self.constant("params.top_k_ties")),
            top_p_ties: TieRule::from_raw(self.constant("params.top_p_ties")),
            filter_order: FilterOrder::from_raw(self.constant("params.filter_order")),
            temperature_order: TemperatureOrder::from_raw(
                self.constant("params.temperature_order"),
            ),
            ..default
        }
    }

    fn row_params(&self) -> RowParams<'a> {
        RowParams {
            temperature: self.input("row_params.temperature"),
            top_p: self.input("row_params.top_p"),
            min_p: self.input("row_params.min_p"),
            top_k: self.input("row_params.top_k"),
            ..RowParams::default()
        }
    }

    fn random(&self) -> Random<'a> {
        Random {
            seed: self.number("random.seed") as u64,
            offset: self.number("random.offset") as u64,
            seeds: self.input("random.seeds"),
            offsets: self.input("random.offsets"),
            streams: self.input("random.streams"),
        }
    }

    /// Every member was asked for, except those that follow from an array.
    fn check_all_were_asked_for(&self) {
        let follows = |name: &str| name.ends_with("dtype") || name.ends_with("id_type");
        let args = self.args.iter().map(|(name, _)| name);
        for name in args.chain(self.inputs.keys()) {
            let is_known = follows(name) || is_count(name) || self.asked.borrow().contains(name);
            assert!(is_known, "no member {name}");
        }
        assert!(self.outputs.borrow().is_empty());
    }
}

// ---- Calls --------------------------------------------------------------------------------------

macro_rules! replay {
    ($call:ident, $workspace_size:ident: |$members:ident| $args:expr) => {
        #[test]
        fn $call() {
            fn run(
                case: &mut Case,
                sampler: &mut Sampler,
                workspace: ArrayMut<u8>,
            ) -> Result<(), Error> {
                let $members = case.members();
                let mut args = $args;
                $members.check_all_were_asked_for();
                args.exec.workspace = workspace;
                sampler.$call(&args)
            }

            fn run_with_the_samplers_workspace(
                json: &Json,
                num_threads: i32,
                host_parameters: bool,
            ) {
                let mut case = Case::read(json);
                case.host_parameters = host_parameters;
                let mut sampler = case.sampler(true, num_threads);
                let result = run(&mut case, &mut sampler, ArrayMut::default());
                case.check(result);
            }

            fn run_with_own_workspace(json: &Json) {
                let mut case = Case::read(json);
                let mut sampler = case.sampler(false, 1);
                let $members = case.members();
                let bytes = sampler.$workspace_size(&$args).unwrap();
                if bytes > 0 {
                    let mut too_small = vec![0u8; bytes - 1];
                    let error = run(&mut case, &mut sampler, (&mut too_small).into()).unwrap_err();
                    assert_eq!(error.status, Status::WORKSPACE_TOO_SMALL);
                }
                let mut workspace = vec![0u8; bytes];
                let result = run(&mut case, &mut sampler, (&mut workspace).into());
                case.check(result);
            }

            /// Arrays in the files have the least length, so one element less is refused.
            fn run_with_short_arrays(json: &Json) {
                let whole = Case::read(json);
                for (name, buffer) in whole.inputs.iter().chain(&whole.outputs) {
                    // Of these the length is their number.
                    let is_counted =
                        matches!(&name[..], "random.seeds" | "random.offsets" | "row_indices");
                    if buffer.len() == 0 || is_counted {
                        continue;
                    }
                    let mut case = Case::read(json);
                    let mut arrays = case.inputs.iter_mut().chain(&mut case.outputs);
                    arrays.find(|array| array.0 == name).unwrap().1.shorten();
                    let before = case.outputs.clone();
                    let mut sampler = case.sampler(true, 1);
                    let error = run(&mut case, &mut sampler, ArrayMut::default()).unwrap_err();
                    assert_eq!(error.status, Status::INVALID_ARGUMENT);
                    let needs = name.split_once('.').map_or("this call", |(of, _)| of);
                    let (len, needed) = (buffer.len() - 1, buffer.len());
                    let message = format!("{name} has {len} elements; {needs} needs {needed}");
                    assert_eq!(error.message, message, "{}", json["name"].text());
                    for (before, after) in before.values().zip(case.outputs.values()) {
                        assert_eq!(before.bytes(), after.bytes());
                    }
                }
            }

            let call = stringify!($call);
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../../tests/vectors")
                .join(call)
                .with_extension("json");
            let file = Json::parse(&fs::read_to_string(path).unwrap());
            assert_eq!(file["operation"].text(), call);
            let cases = file["cases"].array();
            let (left_out, cases): (Vec<_>, Vec<_>) =
                cases.iter().partition(|json| Case::read(json).cannot_be_written());
            assert!(left_out.len() <= 3 && cases.len() > 20);
            assert!(left_out.iter().all(|json| json["status"].integer() != 0));
            for json in cases {
                run_with_the_samplers_workspace(json, 1, false);
                if on_device() {
                    run_with_the_samplers_workspace(json, 1, true);
                } else {
                    run_with_the_samplers_workspace(json, 3, false);
                    if json["status"].integer() == 0 {
                        run_with_own_workspace(json);
                        run_with_short_arrays(json);
                    }
                }
            }
        }
    };
}

replay!(sample, sample_workspace_size: |members| SampleArgs {
    exec: Exec::default(),
    input: members.rows("input"),
    row_indices: members.input("row_indices"),
    slots: members.input("slots"),
    num_slots: members.size("num_slots"),
    params: members.params(),
    row_params: members.row_params(),
    random: members.random(),
    draw_method: DrawMethod::from_raw(members.constant("draw_method")),
    logprob_kind: LogprobKind::from_raw(members.constant("logprob_kind")),
    out_token_ids: members.output("out_token_ids"),
    out_kept_counts: members.output("out_kept_counts"),
    out_logprobs: members.output("out_logprobs"),
    out_values: members.output("out_values"),
    out_row_status: members.output("out_row_status"),
    ..SampleArgs::default()
});

replay!(filter, filter_workspace_size: |members| FilterArgs {
    exec: Exec::default(),
    input: members.rows("input"),
    slots: members.input("slots"),
    num_slots: members.size("num_slots"),
    params: members.params(),
    row_params: members.row_params(),
    output_kind: OutputKind::from_raw(members.constant("output_kind")),
    output: members.output("output"),
    output_stride: members.size("output_stride"),
    out_kept_counts: members.output("out_kept_counts"),
    out_row_status: members.output("out_row_status"),
    pipeline: None,
});

replay!(select, select_workspace_size: |members| SelectArgs {
    exec: Exec::default(),
    input: members.rows("input"),
    num_selected: members.size("num_selected"),
    selected_counts: members.input("selected_counts"),
    out_values: members.output("out_values"),
    out_token_ids: members.output("out_token_ids"),
    out_counts: members.output("out_counts"),
    out_row_status: members.output("out_row_status"),
});

replay!(verify, verify_workspace_size: |members| VerifyArgs {
    exec: Exec::default(),
    target: members.rows("target"),
    draft: members.draft(),
    target_sequence_stride: members.size("target_sequence_stride"),
    draft_sequence_stride: members.size("draft_sequence_stride"),
    draft_token_ids: members.input("draft_token_ids"),
    num_drafts: members.size("num_drafts"),
    draft_counts: members.input("draft_counts"),
    slots: members.input("slots"),
    num_slots: members.size("num_slots"),
    params: members.params(),
    row_params: members.row_params(),
    random: members.random(),
    accumulate_counts: members.number("accumulate_counts") != 0,
    out_token_ids: members.output("out_token_ids"),
    out_accepted_counts: members.output("out_accepted_counts"),
    out_emitted_counts: members.output("out_emitted_counts"),
    out_row_status: members.output("out_row_status"),
    ..VerifyArgs::default()
});

replay!(residual, residual_workspace_size: |members| ResidualArgs {
    exec: Exec::default(),
    target: members.rows("target"),
    draft: members.draft(),
    draft_token_ids: members.input("draft_token_ids"),
    output: members.output("output"),
    output_stride: members.size("output_stride"),
    out_row_status: members.output("out_row_status"),
});

/// All memory is the device's there, so that no parameter is where it should be.
#[test]
fn pointers_are_checked_where_asked() {
    if !on_device() {
        return;
    }
    let mut sampler = Sampler::new(Options {
        device_type: DeviceType::CUDA,
        max_rows: 1,
        max_cols: 2,
        host_parameters: true,
        check_pointers: true,
        ..Options::default()
    })
    .unwrap();
    let (values, seeds, mut ids) = ([0.0f32, 1.0], [1], [7; 1]);
    // SAFETY: the arrays outlive the call.
    let (input, out) = unsafe {
        (Array::<Real>::device(values.as_ptr(), 2), ArrayMut::<Id>::device(ids.as_mut_ptr(), 1))
    };
    let args = SampleArgs {
        input: Rows::logits(input, 1, 2),
        random: Random { seeds: (&seeds).into(), ..Random::default() },
        out_token_ids: out,
        ..SampleArgs::default()
    };
    let error = sampler.sample(&args).unwrap_err();
    let (name, rule) = ("random.seeds is 0x", "; it must be host memory, with host_parameters");
    assert!(error.message.starts_with(name) && error.message.ends_with(rule));
    assert_eq!(ids, [7]);
}
