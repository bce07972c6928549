//! Whether the arrays of a call are as long as the library takes them to be, and on its side.
//!
//! The library checks all else. Sizes that it refuses by themselves, a negative `num_rows` or a
//! stride that is too small, have no array length: such a call goes on to the library, whose text
//! names the rule.

use crate::array::Memory;
use crate::{Error, IdType, Status};

/// Where a sampler's arrays are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) on_cuda: bool,
    pub(crate) host_parameters: bool,
}

/// What a builder remembers of an array besides its address, in one word, since there is one for
/// each array that any operation has: its length, and two flags.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held(usize);

impl Held {
    const IS_SET: usize = 1 << (usize::BITS - 1);
    const ON_DEVICE: usize = 1 << (usize::BITS - 2);
    const IS_I64: usize = 1 << (usize::BITS - 3);
    const LEN: usize = Self::IS_I64 - 1;

    #[inline]
    pub(crate) fn of(memory: Memory) -> Self {
        // No array has as many elements as LEN says, but a device array may claim so.
        let len = memory.len.min(Self::LEN);
        Held(Self::IS_SET | len | if memory.on_device { Self::ON_DEVICE } else { 0 })
    }

    #[inline]
    pub(crate) fn of_ids(memory: Memory, element: IdType) -> Self {
        Held(
            Self::of(memory).0
                | if element == IdType::I64 {
                    Self::IS_I64
                } else {
                    0
                },
        )
    }

    #[inline]
    fn has(self, flag: usize) -> bool {
        self.0 & flag != 0
    }

    #[inline]
    fn len(self) -> usize {
        self.0 & Self::LEN
    }

    /// Whether the array has at least `needed` elements and is on the side where the sampler wants
    /// it. One that is not set is fine.
    #[inline(always)]
    fn fits(self, needed: usize, on_device: bool) -> bool {
        !self.has(Self::IS_SET) || (self.len() >= needed && self.has(Self::ON_DEVICE) == on_device)
    }

    #[cold]
    fn refusal(self, name: &str, needed: usize, on_device: bool) -> Error {
        let len = self.len();
        invalid_argument(if self.has(Self::ON_DEVICE) == on_device {
            format!("{name} has {len} elements; this call needs {needed}")
        } else if on_device {
            format!("{name} is host memory; it must be memory of the sampler's CUDA device")
        } else {
            format!("{name} is device memory; it must be host memory")
        })
    }

    /// Whether two arrays of ids have one type, or one of them is not set.
    #[inline(always)]
    fn has_id_type_of(self, other: Held) -> bool {
        !self.has(Self::IS_SET)
            || !other.has(Self::IS_SET)
            || self.has(Self::IS_I64) == other.has(Self::IS_I64)
    }

    fn id_type(self) -> IdType {
        if self.has(Self::IS_I64) {
            IdType::I64
        } else {
            IdType::I32
        }
    }
}

#[cold]
fn mixed_ids(name: &str, id_type: IdType, other_name: &str, other: IdType) -> Error {
    invalid_argument(format!(
        "{name} is {id_type} and {other_name} {other}; they must be the same"
    ))
}

fn invalid_argument(message: String) -> Error {
    Error::new(Status::INVALID_ARGUMENT, message)
}

/// The arrays of all operations.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrays {
    pub(crate) input: Held,
    pub(crate) row_indices: Held,
    pub(crate) candidate_ids: Held,
    pub(crate) candidate_counts: Held,
    pub(crate) target: Held,
    pub(crate) target_candidate_ids: Held,
    pub(crate) target_candidate_counts: Held,
    pub(crate) draft: Held,
    pub(crate) draft_candidate_ids: Held,
    pub(crate) draft_candidate_counts: Held,
    pub(crate) draft_token_ids: Held,
    pub(crate) draft_lengths: Held,
    pub(crate) temperatures: Held,
    pub(crate) top_ks: Held,
    pub(crate) top_ps: Held,
    pub(crate) min_ps: Held,
    pub(crate) seeds: Held,
    pub(crate) offsets: Held,
    pub(crate) output: Held,
    pub(crate) out_token_ids: Held,
    pub(crate) out_values: Held,
    pub(crate) out_kept_counts: Held,
    pub(crate) out_logprobs: Held,
    pub(crate) out_counts: Held,
    pub(crate) out_accepted_counts: Held,
    pub(crate) out_emitted_counts: Held,
    pub(crate) out_row_status: Held,
    pub(crate) workspace: Held,
}

impl Arrays {
    /// Every array is as long as the call takes it to be, where the sampler wants it, and of the
    /// type that the argument struct says.
    pub(crate) fn check(&self, shape: &Shape, place: Place) -> Result<(), Error> {
        let (target, draft) = (shape.target, shape.draft);
        let parameters_on_device = place.on_cuda && !place.host_parameters;
        macro_rules! check {
            ($on_device:expr; $($array:ident: $needed:expr,)*) => {
                $(if !self.$array.fits($needed, $on_device) {
                    return Err(self.$array.refusal(stringify!($array), $needed, $on_device));
                })*
            };
        }
        check! {
            place.on_cuda;
            input: shape.input,
            row_indices: shape.rows,
            candidate_ids: shape.input,
            candidate_counts: shape.input_rows,
            target: target.elements,
            target_candidate_ids: target.elements,
            target_candidate_counts: target.count,
            draft: draft.elements,
            draft_candidate_ids: draft.elements,
            draft_candidate_counts: draft.count,
            draft_token_ids: draft.count,
            draft_lengths: shape.rows,
            output: shape.output,
            out_token_ids: shape.out_token_ids,
            out_values: shape.out_values,
            out_kept_counts: shape.rows,
            out_logprobs: shape.rows,
            out_counts: shape.rows,
            out_accepted_counts: shape.rows,
            out_emitted_counts: shape.rows,
            out_row_status: shape.rows,
            workspace: 0,
        }
        // Of seeds and offsets the struct says how many there are.
        check! {
            parameters_on_device;
            temperatures: shape.rows,
            top_ks: shape.rows,
            top_ps: shape.rows,
            min_ps: shape.rows,
            seeds: 0,
            offsets: 0,
        }
        macro_rules! check_id_types {
            ($($array:ident, $other:ident;)*) => {
                $(if !self.$array.has_id_type_of(self.$other) {
                    let (id_type, other) = (self.$array.id_type(), self.$other.id_type());
                    return Err(mixed_ids(stringify!($array), id_type, stringify!($other), other));
                })*
            };
        }
        check_id_types! {
            draft_candidate_ids, target_candidate_ids;
            draft_token_ids, out_token_ids;
        }
        Ok(())
    }
}

/// How many elements the arrays of a call have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Shape {
    pub(crate) rows: usize,
    pub(crate) input_rows: usize,
    /// `input` and `candidate_ids`.
    pub(crate) input: usize,
    pub(crate) output: usize,
    pub(crate) out_token_ids: usize,
    pub(crate) out_values: usize,
    pub(crate) target: Positions,
    pub(crate) draft: Positions,
}

/// One of the two models of a verification: `[num_rows, positions, num_cols]`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Positions {
    /// Of all rows.
    pub(crate) count: usize,
    pub(crate) elements: usize,
}

// Sizes are converted from i64 without loss.
#[cfg(not(target_pointer_width = "64"))]
compile_error!("libsampler is for 64-bit systems");

const MAX_ROWS: i64 = 1 << 31;
const MAX_COLS: i64 = 1 << 20;
const MAX_DRAFTS: i64 = 65535;

/// `value` in [low, end).
#[inline]
fn within(value: i64, low: i64, end: i64) -> Option<usize> {
    if (low..end).contains(&value) {
        Some(value as usize)
    } else {
        None
    }
}

/// From the first element of a row to the first of the next; 0 stands for `least`.
#[inline]
fn stride(value: i64, least: usize) -> Option<usize> {
    match value {
        0 => Some(least),
        _ if value > 0 && value as usize >= least => Some(value as usize),
        _ => None,
    }
}

/// From the first element of the first row to the last of the last.
#[inline]
fn extent(rows: usize, row: usize, stride: usize) -> usize {
    match rows {
        0 => 0,
        _ => (rows - 1).saturating_mul(stride).saturating_add(row),
    }
}

/// Numbers of the C structs from which the shape follows; 0 where an operation lacks one.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sizes {
    pub(crate) num_rows: i64,
    pub(crate) num_cols: i64,
    pub(crate) row_stride: i64,
    pub(crate) num_input_rows: i64,
    pub(crate) output_stride: i64,
}

impl Shape {
    /// Operations on rows. None: the library refuses the call.
    #[inline]
    pub(crate) fn of_rows(sizes: Sizes) -> Option<Self> {
        let rows = within(sizes.num_rows, 0, MAX_ROWS)?;
        let cols = within(sizes.num_cols, 1, MAX_COLS)?;
        let input_rows = match within(sizes.num_input_rows, 0, MAX_ROWS)? {
            0 => rows,
            input_rows => input_rows,
        };
        Some(Shape {
            rows,
            input_rows,
            input: extent(input_rows, cols, stride(sizes.row_stride, cols)?),
            output: extent(rows, cols, stride(sizes.output_stride, cols)?),
            out_token_ids: rows,
            out_values: rows,
            ..Shape::default()
        })
    }

    /// Selection: `num_selected` columns in both outputs.
    #[inline]
    pub(crate) fn of_selection(sizes: Sizes, num_selected: i64) -> Option<Self> {
        let shape = Self::of_rows(sizes)?;
        let selected = within(num_selected, 1, sizes.num_cols + 1)?;
        let outputs = shape.rows.saturating_mul(selected);
        Some(Shape {
            out_token_ids: outputs,
            out_values: outputs,
            ..shape
        })
    }

    /// Verification of `num_drafts` drafts in each row. Strides are (of rows, of positions).
    #[inline]
    pub(crate) fn of_chain(
        sizes: Sizes,
        num_drafts: i64,
        target_strides: (i64, i64),
        draft_strides: (i64, i64),
    ) -> Option<Self> {
        let shape = Self::of_rows(sizes)?;
        let drafts = within(num_drafts, 0, MAX_DRAFTS + 1)?;
        let cols = sizes.num_cols as usize;
        let target = Positions::of(shape.rows, drafts + 1, cols, target_strides)?;
        let draft = Positions::of(shape.rows, drafts, cols, draft_strides)?;
        Some(Shape {
            out_token_ids: target.count,
            target,
            draft,
            ..shape
        })
    }

    /// Residuals: of both models a row for each.
    #[inline]
    pub(crate) fn of_residual(
        sizes: Sizes,
        target_row_stride: i64,
        draft_row_stride: i64,
    ) -> Option<Self> {
        let shape = Self::of_rows(sizes)?;
        let cols = sizes.num_cols as usize;
        Some(Shape {
            target: Positions::of(shape.rows, 1, cols, (target_row_stride, 0))?,
            draft: Positions::of(shape.rows, 1, cols, (draft_row_stride, 0))?,
            ..shape
        })
    }
}

impl Positions {
    #[inline]
    fn of(rows: usize, positions: usize, cols: usize, strides: (i64, i64)) -> Option<Self> {
        let position_stride = stride(strides.1, cols)?;
        let row = extent(positions, cols, position_stride);
        let row_stride = match strides.0 {
            0 => positions.saturating_mul(position_stride),
            row_stride => stride(row_stride, row)?,
        };
        Some(Positions {
            count: rows.saturating_mul(positions),
            elements: if positions == 0 {
                0
            } else {
                extent(rows, row, row_stride)
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: Place = Place {
        on_cuda: false,
        host_parameters: false,
    };
    const CUDA: Place = Place {
        on_cuda: true,
        host_parameters: false,
    };
    const CUDA_WITH_HOST_PARAMETERS: Place = Place {
        on_cuda: true,
        host_parameters: true,
    };

    fn held(len: usize, on_device: bool) -> Held {
        Held::of(Memory {
            address: std::ptr::null_mut(),
            len,
            on_device,
        })
    }

    fn message(result: Result<(), Error>) -> String {
        let error = result.unwrap_err();
        assert_eq!(error.status, Status::INVALID_ARGUMENT);
        error.message
    }

    #[test]
    fn lengths() {
        assert!(Held::default().fits(usize::MAX, false));
        assert!(held(3, false).fits(3, false));
        assert!(!held(2, false).fits(3, false));
        assert!(held(0, true).fits(0, true));
        assert!(!held(0, true).fits(1, true));
        // A device array of a length that no array has.
        assert!(held(usize::MAX, true).fits(1 << 60, true));
        assert!(!held(usize::MAX, true).fits(usize::MAX, true));
    }

    #[test]
    fn the_array_that_is_too_short_is_named() {
        let shape = Shape {
            rows: 3,
            ..Shape::default()
        };
        let arrays = Arrays {
            out_row_status: held(2, false),
            ..Arrays::default()
        };
        assert_eq!(
            message(arrays.check(&shape, CPU)),
            "out_row_status has 2 elements; this call needs 3"
        );
    }

    #[test]
    fn ids_of_one_member_have_one_type() {
        let ids = |element| {
            let memory = Memory {
                address: std::ptr::null_mut(),
                len: 0,
                on_device: false,
            };
            Held::of_ids(memory, element)
        };
        let mut arrays = Arrays {
            draft_token_ids: ids(IdType::I64),
            out_token_ids: ids(IdType::I64),
            draft_candidate_ids: ids(IdType::I32),
            ..Arrays::default()
        };
        assert!(arrays.check(&Shape::default(), CPU).is_ok());
        arrays.out_token_ids = ids(IdType::I32);
        assert_eq!(
            message(arrays.check(&Shape::default(), CPU)),
            "draft_token_ids is SAMPLER_ID_I64 and out_token_ids SAMPLER_ID_I32; they must be the \
             same"
        );
    }

    fn check_sides(name: &str, set: fn(&mut Arrays, Held), place: Place, wants_device: bool) {
        let shape = Shape {
            rows: 1,
            input: 1,
            ..Shape::default()
        };
        for on_device in [false, true] {
            let mut arrays = Arrays::default();
            set(&mut arrays, held(1, on_device));
            let result = arrays.check(&shape, place);
            if on_device == wants_device {
                assert!(result.is_ok());
            } else if wants_device {
                let rule = "is host memory; it must be memory of the sampler's CUDA device";
                assert_eq!(message(result), format!("{name} {rule}"));
            } else {
                let rule = "is device memory; it must be host memory";
                assert_eq!(message(result), format!("{name} {rule}"));
            }
        }
    }

    #[test]
    fn sides() {
        for place in [CPU, CUDA, CUDA_WITH_HOST_PARAMETERS] {
            let on_device = place.on_cuda;
            check_sides(
                "input",
                |arrays, held| arrays.input = held,
                place,
                on_device,
            );
            check_sides(
                "row_indices",
                |arrays, held| arrays.row_indices = held,
                place,
                on_device,
            );
            check_sides(
                "workspace",
                |arrays, held| arrays.workspace = held,
                place,
                on_device,
            );
            let on_device = place.on_cuda && !place.host_parameters;
            check_sides(
                "top_ps",
                |arrays, held| arrays.top_ps = held,
                place,
                on_device,
            );
            check_sides(
                "seeds",
                |arrays, held| arrays.seeds = held,
                place,
                on_device,
            );
        }
    }

    fn rows(num_rows: i64, num_cols: i64, row_stride: i64) -> Sizes {
        Sizes {
            num_rows,
            num_cols,
            row_stride,
            ..Sizes::default()
        }
    }

    #[test]
    fn shapes_of_rows() {
        let shape = Shape::of_rows(rows(3, 5, 8)).unwrap();
        assert_eq!(
            (shape.input, shape.output, shape.out_token_ids),
            (21, 15, 3)
        );
        let sizes = Sizes {
            num_input_rows: 2,
            output_stride: 6,
            ..rows(3, 5, 0)
        };
        let shape = Shape::of_rows(sizes).unwrap();
        assert_eq!((shape.input_rows, shape.input, shape.output), (2, 10, 17));
        assert_eq!(Shape::of_rows(rows(0, 5, 0)).unwrap().input, 0);
        assert_eq!(
            Shape::of_rows(rows(2, 5, i64::MAX)).unwrap().input,
            (1 << 63) + 4
        );
        assert_eq!(
            Shape::of_rows(rows(9, 5, i64::MAX)).unwrap().input,
            usize::MAX
        );
        let shape = Shape::of_selection(rows(3, 5, 0), 5).unwrap();
        assert_eq!((shape.out_token_ids, shape.out_values), (15, 15));
    }

    #[test]
    fn shapes_of_chains() {
        let shape = Shape::of_chain(rows(2, 5, 0), 3, (0, 0), (0, 0)).unwrap();
        assert_eq!(
            shape.target,
            Positions {
                count: 8,
                elements: 40
            }
        );
        assert_eq!(
            shape.draft,
            Positions {
                count: 6,
                elements: 30
            }
        );
        assert_eq!(shape.out_token_ids, 8);
        let shape = Shape::of_chain(rows(2, 5, 0), 3, (0, 6), (40, 7)).unwrap();
        assert_eq!(shape.target.elements, 24 + 18 + 5);
        assert_eq!(shape.draft.elements, 40 + 14 + 5);
        let shape = Shape::of_chain(rows(2, 5, 0), 0, (0, 0), (9, 0)).unwrap();
        assert_eq!((shape.target.elements, shape.draft.elements), (10, 0));
        let shape = Shape::of_chain(rows(2, 5, 0), 3, (0, i64::MAX), (0, 0)).unwrap();
        assert_eq!(shape.target.elements, usize::MAX);
    }

    #[test]
    fn shapes_of_residuals() {
        let shape = Shape::of_residual(rows(3, 5, 0), 0, 7).unwrap();
        assert_eq!(
            shape.target,
            Positions {
                count: 3,
                elements: 15
            }
        );
        assert_eq!(shape.draft.elements, 14 + 5);
        assert_eq!((shape.draft.count, shape.output), (3, 15));
        let none = Shape::of_residual(rows(0, 5, 0), 0, 0).unwrap();
        assert_eq!((none.target.elements, none.draft.count), (0, 0));
        assert_eq!(Shape::of_residual(rows(3, 5, 0), 4, 0), None);
        assert_eq!(Shape::of_residual(rows(3, 5, 0), 0, -5), None);
    }

    #[test]
    fn sizes_that_the_library_refuses_have_no_shape() {
        let input_rows = |num_input_rows| Sizes {
            num_input_rows,
            ..rows(1, 5, 0)
        };
        for sizes in [
            rows(-1, 5, 0),
            rows(1 << 31, 5, 0),
            rows(1, 0, 0),
            rows(1, 1 << 20, 0),
            rows(1, 5, 4),
            rows(1, 5, -5),
            rows(i64::MIN, i64::MIN, i64::MIN),
            input_rows(-1),
            input_rows(1 << 31),
            Sizes {
                output_stride: 4,
                ..rows(1, 5, 0)
            },
        ] {
            assert_eq!(Shape::of_rows(sizes), None);
        }
        assert_eq!(Shape::of_selection(rows(1, 5, 0), 0), None);
        assert_eq!(Shape::of_selection(rows(1, 5, 0), 6), None);
        assert_eq!(Shape::of_chain(rows(1, 5, 0), -1, (0, 0), (0, 0)), None);
        assert_eq!(Shape::of_chain(rows(1, 5, 0), 65536, (0, 0), (0, 0)), None);
        assert_eq!(Shape::of_chain(rows(1, 5, 0), 1, (9, 0), (0, 0)), None);
        assert_eq!(Shape::of_chain(rows(1, 5, 0), 1, (0, 4), (0, 0)), None);
        assert_eq!(Shape::of_chain(rows(1, 5, 0), 1, (0, 0), (4, 0)), None);
        assert_eq!(Shape::of_chain(rows(1, 5, 0), 1, (0, 0), (0, 4)), None);
    }
}
