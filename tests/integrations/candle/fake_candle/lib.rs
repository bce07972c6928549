//! Stands for candle-core 0.11: the few names that integrations/candle and its test use, with the
//! types that candle gives them. It is no part of candle.

use std::fmt;

#[derive(Debug)]
pub enum Error {
    Msg(String),
    Wrapped(String),
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn wrap(error: impl fmt::Display + Send + Sync + 'static) -> Self {
        Error::Wrapped(error.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Msg(text) | Error::Wrapped(text) => write!(f, "{text}"),
        }
    }
}

impl std::error::Error for Error {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DType {
    F32,
    F64,
}

pub enum Device {
    Cpu,
}

/// The types of elements.
pub trait WithDType: Copy {
    const DTYPE: DType;
    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
}

impl WithDType for f32 {
    const DTYPE: DType = DType::F32;
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    fn to_f64(self) -> f64 {
        self.into()
    }
}

impl WithDType for f64 {
    const DTYPE: DType = DType::F64;
    fn from_f64(value: f64) -> Self {
        value
    }
    fn to_f64(self) -> f64 {
        self
    }
}

/// What `Tensor::new` takes.
pub trait NdArray {
    fn tensor(self) -> Tensor;
}

impl<T: WithDType> NdArray for &[T] {
    fn tensor(self) -> Tensor {
        let values = self.iter().map(|x| x.to_f64()).collect();
        Tensor { values, dtype: T::DTYPE, rank: 1 }
    }
}

impl<T: WithDType, const N: usize, const M: usize> NdArray for &[[T; N]; M] {
    fn tensor(self) -> Tensor {
        let values = self.iter().flatten().map(|x| x.to_f64()).collect();
        Tensor { values, dtype: T::DTYPE, rank: 2 }
    }
}

pub struct Tensor {
    values: Vec<f64>,
    dtype: DType,
    rank: usize,
}

impl Tensor {
    pub fn new<A: NdArray>(array: A, _: &Device) -> Result<Self> {
        Ok(array.tensor())
    }

    pub fn to_dtype(&self, dtype: DType) -> Result<Self> {
        let narrow = |x: &f64| if dtype == DType::F32 { f64::from(*x as f32) } else { *x };
        Ok(Tensor { values: self.values.iter().map(narrow).collect(), dtype, rank: self.rank })
    }

    pub fn to_vec1<S: WithDType>(&self) -> Result<Vec<S>> {
        if self.rank != 1 {
            return Err(Error::Msg(format!("unexpected rank, expected: 1, got: {}", self.rank)));
        }
        if self.dtype != S::DTYPE {
            return Err(Error::Msg("unexpected dtype".into()));
        }
        Ok(self.values.iter().map(|x| S::from_f64(*x)).collect())
    }
}
