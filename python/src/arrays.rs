//! Arrays across the border: bytes that NumPy reads.

use pyo3::{prelude::*, types::PyByteArray};

/// Numbers of NumPy.
pub(crate) trait Number: Copy {
    /// Writes the number as the machine keeps it.
    fn write_to(self, bytes: &mut [u8]);
}

macro_rules! number {
    ($($type:ty),*) => {
        $(impl Number for $type {
            fn write_to(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_ne_bytes());
            }
        })*
    };
}
number!(u16, i64, f32);

/// Numbers as bytes that Python may write to, so that `numpy.frombuffer` gives an ordinary array.
pub(crate) fn bytes_of<'py, N: Number>(py: Python<'py>, numbers: &[N]) -> PyResult<Bound<'py, PyByteArray>> {
    PyByteArray::new_with(py, size_of_val(numbers), |bytes| {
        bytes
            .chunks_exact_mut(size_of::<N>())
            .zip(numbers)
            .for_each(|(place, number)| number.write_to(place));
        Ok(())
    })
}
