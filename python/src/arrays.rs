//! Arrays across the border: bytes that NumPy reads.

use pyo3::{prelude::*, types::PyByteArray};

/// Numbers of NumPy.
pub(crate) trait Number: Copy {
    /// Appends the number as the machine keeps it.
    fn push_to(self, bytes: &mut Vec<u8>);
}

macro_rules! number {
    ($($type:ty),*) => {
        $(impl Number for $type {
            fn push_to(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_ne_bytes());
            }
        })*
    };
}
number!(u16, i64, f32);

/// Numbers as bytes that Python may write to, so that `numpy.frombuffer` gives an ordinary array.
pub(crate) fn bytes_of<'py, N: Number>(
    py: Python<'py>,
    numbers: impl IntoIterator<Item = N>,
) -> Bound<'py, PyByteArray> {
    let numbers = numbers.into_iter();
    let mut bytes = Vec::with_capacity(numbers.size_hint().0 * size_of::<N>());
    numbers.for_each(|number| number.push_to(&mut bytes));
    PyByteArray::new(py, &bytes)
}
