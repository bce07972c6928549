//! Replays the recorded calls of tests/vectors. Their README.md explains the files.
//!
//! With SAMPLER_TEST_DEVICE_REACHES_HOST in the environment, on a CUDA device that reaches the memory of
//! its program: there the arrays are given by their addresses.

use std::ffi::c_void;
use std::path::Path;
use std::{env, fs};

use sampler::*;

mod json;
use json::Json;

// ---- Arrays -------------------------------------------------------------------------------------

#[derive(Clone, Debug)]
enum Buffer {
    F32(Vec<f32>),
    F16(Vec<u16>),
    Bf16(Vec<u16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U32(Vec<u32>),
    U64(Vec<u64>),
}

impl Buffer {
    /// `len` elements; element i has the bits `bits(i)`.
    fn new(kind: &str, len: usize, bits: impl Fn(usize) -> u64) -> Buffer {
        let indices = 0..len;
        match kind {
            "f32" => Buffer::F32(indices.map(|i| f32::from_bits(bits(i) as u32)).collect()),
            "f16" => Buffer::F16(indices.map(|i| bits(i) as u16).collect()),
            "bf16" => Buffer::Bf16(indices.map(|i| bits(i) as u16).collect()),
            "i32" => Buffer::I32(indices.map(|i| bits(i) as i32).collect()),
            "i64" => Buffer::I64(indices.map(|i| bits(i) as i64).collect()),
            "u32" => Buffer::U32(indices.map(|i| bits(i) as u32).collect()),
            "u64" => Buffer::U64(indices.map(bits).collect()),
            other => panic!("an array of type {other}"),
        }
    }

    fn read(json: &Json) -> Buffer {
        let data = json["data"].array();
        Buffer::new(json["type"].text(), data.len(), |i| {
            data[i].integer() as u64
        })
    }

    /// An output of the same length as it is before the call.
    fn untouched(json: &Json) -> Buffer {
        Buffer::new(json["type"].text(), json["data"].array().len(), |_| {
            0xcdcd_cdcd_cdcd_cdcd
        })
    }

    /// Takes one element off.
    fn shorten(&mut self) {
        match self {
            Buffer::F32(values) => values.truncate(values.len() - 1),
            Buffer::F16(values) | Buffer::Bf16(values) => values.truncate(values.len() - 1),
            Buffer::I32(values) => values.truncate(values.len() - 1),
            Buffer::I64(values) => values.truncate(values.len() - 1),
            Buffer::U32(values) => values.truncate(values.len() - 1),
            Buffer::U64(values) => values.truncate(values.len() - 1),
        }
    }

    /// Equal values of f32 may have different bits, and NaN differs from itself.
    fn bits(&self) -> Vec<u64> {
        match self {
            Buffer::F32(values) => values.iter().map(|value| value.to_bits().into()).collect(),
            Buffer::F16(values) | Buffer::Bf16(values) => {
                values.iter().map(|&value| value.into()).collect()
            }
            Buffer::I32(values) => values.iter().map(|&value| value as u64).collect(),
            Buffer::I64(values) => values.iter().map(|&value| value as u64).collect(),
            Buffer::U32(values) => values.iter().map(|&value| value.into()).collect(),
            Buffer::U64(values) => values.clone(),
        }
    }
}

fn on_device() -> bool {
    env::var_os("SAMPLER_TEST_DEVICE_REACHES_HOST").is_some()
}

/// What a setter takes, made of the buffer of its member: for each type of elements, from host memory
/// and from an address and a length.
macro_rules! lend {
    ($($type:ty { $($variant:ident $host:expr, $device:expr;)* })*) => {$(
        impl<'a> From<&'a Buffer> for $type {
            fn from(buffer: &'a Buffer) -> Self {
                match buffer {
                    // SAFETY: a call has done its work when it returns, and the buffer outlives it.
                    $(Buffer::$variant(values) if on_device() => unsafe {
                        $device(values.as_ptr(), values.len())
                    },)*
                    $(Buffer::$variant(values) => $host(values),)*
                    other => panic!("{} of {other:?}", stringify!($type)),
                }
            }
        }
    )*};
}

macro_rules! lend_mut {
    ($($type:ty { $($variant:ident $host:expr, $device:expr;)* })*) => {$(
        impl<'a> From<&'a mut Buffer> for $type {
            fn from(buffer: &'a mut Buffer) -> Self {
                match buffer {
                    // SAFETY: as above.
                    $(Buffer::$variant(values) if on_device() => unsafe {
                        $device(values.as_mut_ptr(), values.len())
                    },)*
                    $(Buffer::$variant(values) => $host(values),)*
                    other => panic!("{} of {other:?}", stringify!($type)),
                }
            }
        }
    )*};
}

unsafe fn data<'a, T>(element: Dtype, address: *const T, len: usize) -> Data<'a> {
    Data::device(address as *const c_void, len, element)
}
unsafe fn ids<'a, T>(element: IdType, address: *const T, len: usize) -> Ids<'a> {
    Ids::device(address as *const c_void, len, element)
}
unsafe fn per_row<'a, T>(address: *const T, len: usize) -> Param<'a, T> {
    Array::device(address, len).into()
}
unsafe fn data_mut<'a, T>(element: Dtype, address: *mut T, len: usize) -> DataMut<'a> {
    DataMut::device(address as *mut c_void, len, element)
}
unsafe fn ids_mut<'a, T>(element: IdType, address: *mut T, len: usize) -> IdsMut<'a> {
    IdsMut::device(address as *mut c_void, len, element)
}

lend! {
    Data<'a> {
        F32 Data::f32, |address, len| data(Dtype::F32, address, len);
        F16 Data::f16, |address, len| data(Dtype::F16, address, len);
        Bf16 Data::bf16, |address, len| data(Dtype::BF16, address, len);
    }
    Ids<'a> {
        I32 Ids::i32, |address, len| ids(IdType::I32, address, len);
        I64 Ids::i64, |address, len| ids(IdType::I64, address, len);
    }
    Array<'a, i32> { I32 Array::from, |address, len| Array::device(address, len); }
    Param<'a, f32> { F32 Param::from, |address, len| per_row(address, len); }
    Param<'a, i32> { I32 Param::from, |address, len| per_row(address, len); }
    Param<'a, u64> { U64 Param::from, |address, len| per_row(address, len); }
}

lend_mut! {
    DataMut<'a> {
        F32 DataMut::f32, |address, len| data_mut(Dtype::F32, address, len);
        F16 DataMut::f16, |address, len| data_mut(Dtype::F16, address, len);
        Bf16 DataMut::bf16, |address, len| data_mut(Dtype::BF16, address, len);
    }
    IdsMut<'a> {
        I32 IdsMut::i32, |address, len| ids_mut(IdType::I32, address, len);
        I64 IdsMut::i64, |address, len| ids_mut(IdType::I64, address, len);
    }
    ArrayMut<'a, f32> { F32 ArrayMut::from, |address, len| ArrayMut::device(address, len); }
    ArrayMut<'a, i32> { I32 ArrayMut::from, |address, len| ArrayMut::device(address, len); }
    ArrayMut<'a, u32> { U32 ArrayMut::from, |address, len| ArrayMut::device(address, len); }
}

// ---- Scalars ------------------------------------------------------------------------------------

/// A scalar member as it stands in the file: floats as their bits.
#[derive(Clone, Copy)]
struct Scalar(i64);

macro_rules! scalars {
    ($($type:ty: |$value:ident| $make:expr;)*) => {$(
        impl From<Scalar> for $type {
            fn from(Scalar($value): Scalar) -> Self {
                $make
            }
        }
    )*};
}

scalars! {
    i64: |value| value;
    bool: |value| value != 0;
    Param<'_, f32>: |value| Param::Value(f32::from_bits(value as u32));
    Param<'_, i32>: |value| Param::Value(value as i32);
    Param<'_, u64>: |value| Param::Value(value as u64);
    InputKind: |value| InputKind::from_raw(value as i32);
    TieRule: |value| TieRule::from_raw(value as i32);
    FilterOrder: |value| FilterOrder::from_raw(value as i32);
    TemperatureOrder: |value| TemperatureOrder::from_raw(value as i32);
    DrawMethod: |value| DrawMethod::from_raw(value as i32);
    LogprobKind: |value| LogprobKind::from_raw(value as i32);
}

/// Members that the binding sets itself, with the array that they describe.
fn follows_from_an_array(member: &str) -> bool {
    member.ends_with("_dtype") || member.ends_with("_id_type") || is_count(member)
}

fn is_count(member: &str) -> bool {
    matches!(member, "num_seeds" | "num_offsets")
}

// ---- Cases --------------------------------------------------------------------------------------

struct Case<'a> {
    json: &'a Json,
    scalars: Vec<(&'a str, Scalar)>,
    inputs: Vec<(&'a str, Buffer)>,
    outputs: Vec<(&'a str, Buffer)>,
}

impl<'a> Case<'a> {
    fn read(json: &'a Json) -> Self {
        let members = |name: &str| {
            json[name]
                .object()
                .iter()
                .map(|(name, json)| (&name[..], json))
        };
        let outputs: Vec<_> = members("outputs").collect();
        let is_output = |name: &str| outputs.iter().any(|(output, _)| *output == name);
        Case {
            json,
            scalars: members("args")
                .map(|(name, json)| (name, Scalar(json.integer())))
                .collect(),
            inputs: members("inputs")
                .filter(|(name, _)| !is_output(name))
                .map(|(name, json)| (name, Buffer::read(json)))
                .collect(),
            outputs: outputs
                .iter()
                .map(|&(name, after)| match json["inputs"].get(name) {
                    Some(before) => (name, Buffer::read(before)),
                    None => (name, Buffer::untouched(after)),
                })
                .collect(),
        }
    }

    /// An element type that does not exist, and a number of seeds without seeds: there is no way
    /// to say so in Rust.
    fn cannot_be_written(&self) -> bool {
        self.scalars.iter().any(|(name, Scalar(value))| {
            let seeds = name.trim_start_matches("num_");
            let has_seeds = self.inputs.iter().any(|(input, _)| *input == seeds);
            (name.ends_with("_dtype") && *value > 2) || (is_count(name) && !has_seeds)
        })
    }

    fn sampler(&self, has_workspace: bool, num_threads: i32) -> Sampler {
        let mut builder = Sampler::builder().num_threads(num_threads);
        if on_device() {
            builder = builder.device_type(DeviceType::CUDA);
        }
        if has_workspace {
            builder = builder.max_rows(16).max_cols(1500);
        }
        if let Some(options) = self.json.get("options") {
            builder = builder.fallback_token_id(options["fallback_token_id"].integer());
        }
        builder.build().unwrap()
    }

    fn check(&self, result: Result<(), Error>) {
        let name = self.json["name"].text();
        match result {
            Ok(()) => assert_eq!(self.json["status"].integer(), 0, "{name}"),
            Err(error) => {
                assert_eq!(
                    i64::from(error.status.raw()),
                    self.json["status"].integer(),
                    "{name}"
                );
                assert_eq!(error.message, self.json["error"].text(), "{name}");
            }
        }
        for (output, buffer) in &self.outputs {
            let expected = Buffer::read(&self.json["outputs"][output]);
            assert_eq!(buffer.bits(), expected.bits(), "{name}: {output}");
        }
    }
}

// ---- Operations ---------------------------------------------------------------------------------

/// `parameters` are written as value/array.
macro_rules! replay {
    (
        $function:ident: $type:ident;
        scalars: $($scalar:ident)*;
        parameters: $($value:ident/$array:ident)*;
        inputs: $($input:ident)*;
        outputs: $($output:ident)*;
    ) => {
        #[test]
        fn $function() {
            fn arguments<'a>(
                scalars: &[(&str, Scalar)],
                inputs: &'a [(&str, Buffer)],
                outputs: &'a mut [(&str, Buffer)],
            ) -> $type<'a> {
                let mut args = $type::new();
                for &(name, scalar) in scalars {
                    match name {
                        $(stringify!($scalar) => args.$scalar(scalar.into()),)*
                        $(stringify!($value) => args.$value(scalar),)*
                        _ if follows_from_an_array(name) => continue,
                        _ => panic!("no scalar {name}"),
                    };
                }
                for (name, buffer) in inputs {
                    match *name {
                        $(stringify!($input) => args.$input(buffer),)*
                        $(stringify!($array) => args.$value(buffer),)*
                        _ => panic!("no input {name}"),
                    };
                }
                for (name, buffer) in outputs {
                    match *name {
                        $(stringify!($output) => args.$output(buffer),)*
                        _ => panic!("no output {name}"),
                    };
                }
                args
            }

            fn run(json: &Json, num_threads: i32) -> bool {
                let mut case = Case::read(json);
                if case.cannot_be_written() {
                    assert_ne!(json["status"].integer(), 0);
                    return false;
                }
                let mut sampler = case.sampler(true, num_threads);
                let args = arguments(&case.scalars, &case.inputs, &mut case.outputs);
                let result = sampler.$function(&args);
                case.check(result);
                true
            }

            /// Arrays in the files have the least length, so one element less is refused.
            fn run_with_short_arrays(json: &Json) {
                for index in 0.. {
                    let mut case = Case::read(json);
                    let mut arrays = case.inputs.iter_mut().chain(&mut case.outputs);
                    let (name, buffer) = match arrays.nth(index) {
                        Some(array) => array,
                        None => break,
                    };
                    let (name, len) = (*name, buffer.bits().len());
                    // Of seeds and offsets the length is their number.
                    if len == 0 || matches!(name, "seeds" | "offsets") {
                        continue;
                    }
                    buffer.shorten();
                    let before = case.outputs.clone();
                    let mut sampler = case.sampler(true, 1);
                    let args = arguments(&case.scalars, &case.inputs, &mut case.outputs);
                    let error = sampler.$function(&args).unwrap_err();
                    assert_eq!(error.status, Status::INVALID_ARGUMENT);
                    let message = format!("{name} has {} elements; this call needs {len}", len - 1);
                    assert_eq!(error.message, message);
                    for ((_, before), (_, after)) in before.iter().zip(&case.outputs) {
                        assert_eq!(before.bits(), after.bits());
                    }
                }
            }

            fn run_with_own_workspace(json: &Json) {
                let mut case = Case::read(json);
                let mut sampler = case.sampler(false, 1);
                let mut args = arguments(&case.scalars, &case.inputs, &mut case.outputs);
                let bytes = sampler.workspace_size(&args).unwrap();
                let (mut workspace, mut too_small) = (vec![0; bytes], vec![0; bytes.max(1) - 1]);
                if bytes > 0 {
                    args.workspace(&mut too_small);
                    let error = sampler.$function(&args).unwrap_err();
                    assert_eq!(error.status, Status::WORKSPACE_TOO_SMALL);
                }
                args.workspace(&mut workspace);
                let result = sampler.$function(&args);
                case.check(result);
            }

            let operation = stringify!($function);
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../../tests/vectors")
                .join(operation)
                .with_extension("json");
            let file = Json::parse(&fs::read_to_string(path).unwrap());
            assert_eq!(file["operation"].text(), operation);
            let cases = file["cases"].array();
            let left_out = cases.iter().filter(|case| !run(case, 1)).count();
            assert!(left_out <= 2 && cases.len() > 20, "{left_out} of {}", cases.len());
            let cases_on_host = if on_device() { &[] } else { cases };
            for case in cases_on_host {
                run(case, 3);
                if case["status"].integer() == 0 {
                    run_with_own_workspace(case);
                    run_with_short_arrays(case);
                }
            }
        }
    };
}

replay! {
    sample: Sample;
    scalars: num_rows num_cols row_stride num_input_rows input_kind top_k_ties top_p_ties
        filter_order temperature_order draw_method logprob_kind;
    parameters: temperature/temperatures top_k/top_ks top_p/top_ps min_p/min_ps seed/seeds
        offset/offsets;
    inputs: input row_indices candidate_ids candidate_counts;
    outputs: out_token_ids out_kept_counts out_logprobs out_row_status;
}

replay! {
    top_k_top_p: TopKTopP;
    scalars: num_rows num_cols row_stride num_input_rows input_kind top_k_ties top_p_ties
        filter_order temperature_order draw_method;
    parameters: temperature/temperatures top_k/top_ks top_p/top_ps seed/seeds offset/offsets;
    inputs: input row_indices candidate_ids candidate_counts;
    outputs: out_token_ids out_kept_counts out_row_status;
}

replay! {
    top_k: TopK;
    scalars: num_rows num_cols row_stride num_input_rows input_kind top_k_ties draw_method;
    parameters: temperature/temperatures top_k/top_ks seed/seeds offset/offsets;
    inputs: input row_indices candidate_ids candidate_counts;
    outputs: out_token_ids out_kept_counts out_row_status;
}

replay! {
    top_p: TopP;
    scalars: num_rows num_cols row_stride num_input_rows input_kind top_p_ties temperature_order
        draw_method;
    parameters: temperature/temperatures top_p/top_ps seed/seeds offset/offsets;
    inputs: input row_indices candidate_ids candidate_counts;
    outputs: out_token_ids out_kept_counts out_row_status;
}

replay! {
    min_p: MinP;
    scalars: num_rows num_cols row_stride num_input_rows input_kind temperature_order
        draw_method;
    parameters: temperature/temperatures min_p/min_ps seed/seeds offset/offsets;
    inputs: input row_indices candidate_ids candidate_counts;
    outputs: out_token_ids out_kept_counts out_row_status;
}

replay! {
    argmax: Argmax;
    scalars: num_rows num_cols row_stride input_kind;
    parameters:;
    inputs: input candidate_ids candidate_counts;
    outputs: out_token_ids out_values out_row_status;
}

replay! {
    softmax: Softmax;
    scalars: num_rows num_cols row_stride output_stride;
    parameters: temperature/temperatures;
    inputs: input candidate_ids candidate_counts;
    outputs: output out_row_status;
}

replay! {
    top_k_renorm: TopKRenorm;
    scalars: num_rows num_cols row_stride output_stride input_kind top_k_ties;
    parameters: temperature/temperatures top_k/top_ks;
    inputs: input candidate_ids candidate_counts;
    outputs: output out_kept_counts out_row_status;
}

replay! {
    top_p_renorm: TopPRenorm;
    scalars: num_rows num_cols row_stride output_stride input_kind top_p_ties temperature_order;
    parameters: temperature/temperatures top_p/top_ps;
    inputs: input candidate_ids candidate_counts;
    outputs: output out_kept_counts out_row_status;
}

replay! {
    top_k_mask: TopKMask;
    scalars: num_rows num_cols row_stride output_stride top_k_ties;
    parameters: top_k/top_ks;
    inputs: input candidate_ids candidate_counts;
    outputs: output out_kept_counts out_row_status;
}

replay! {
    top_k_select: TopKSelect;
    scalars: num_rows num_cols row_stride num_selected input_kind;
    parameters:;
    inputs: input candidate_ids candidate_counts top_ks;
    outputs: out_values out_token_ids out_counts out_row_status;
}

replay! {
    chain_speculative: ChainSpeculative;
    scalars: num_rows num_drafts num_cols target_row_stride target_position_stride target_kind
        draft_row_stride draft_position_stride draft_kind top_k_ties top_p_ties filter_order
        temperature_order accumulate_counts;
    parameters: temperature/temperatures top_k/top_ks top_p/top_ps min_p/min_ps seed/seeds
        offset/offsets;
    inputs: target draft target_candidate_ids target_candidate_counts draft_candidate_ids
        draft_candidate_counts draft_token_ids draft_lengths;
    outputs: out_token_ids out_accepted_counts out_emitted_counts out_row_status;
}

replay! {
    residual: Residual;
    scalars: num_rows num_cols target_row_stride draft_row_stride output_stride;
    parameters:;
    inputs: target draft draft_token_ids;
    outputs: output out_row_status;
}
