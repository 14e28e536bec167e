//! What runs on the device, as data: a step is a list of these, run one by one or recorded as a graph.

use std::ffi::c_void;

/// One launch.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// A kernel of ours.
    Kernel {
        /// Entry point.
        name: &'static str,
        /// Blocks, in two directions.
        grid: (u32, u32),
        /// Threads of a block.
        block: u32,
        /// Dynamic shared memory in bytes.
        shared: u32,
        /// Parameters in order.
        arguments: Vec<Argument>,
    },
    /// A matrix product.
    Product {
        /// What it computes, for tables of times.
        name: &'static str,
        /// Index of the plan in [`Blas`](super::blas::Blas).
        plan: usize,
        /// Where the matrices are.
        operands: Operands,
    },
    /// Zeros.
    Clear {
        /// Where.
        address: u64,
        /// How many.
        bytes: usize,
    },
}

/// Addresses and factors of `d = alpha a b + beta c`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operands {
    /// Left matrix.
    pub(super) a: u64,
    /// Right matrix.
    pub(super) b: u64,
    /// Added matrix, of the result's type and shape; may be `d`.
    pub(super) c: u64,
    /// Result.
    pub(super) d: u64,
    /// Factor on the product.
    pub(super) alpha: f32,
    /// Factor on `c`.
    pub(super) beta: f32,
}

impl Operands {
    /// `d = a b`.
    pub(super) fn plain(a: u64, b: u64, d: u64) -> Self {
        Self { a, b, c: d, d, alpha: 1.0, beta: 0.0 }
    }
}

/// A kernel parameter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Argument {
    /// An address.
    Address(u64),
    /// A number.
    Int(i32),
    /// A number.
    Float(f32),
    /// How gradients of queries or keys leave attention.
    Turn(Turn),
}

/// ChessSymmetry of `struct Turn` in `attention_bwd.cu`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Turn {
    pub(super) table: u64,
    pub(super) positions: u64,
    pub(super) gain: u64,
    pub(super) slots: u64,
    pub(super) eps: f32,
}

impl Argument {
    /// Where the value lies, as the driver wants it.
    pub(super) fn pointer(&self) -> *mut c_void {
        let pointer: *const c_void = match self {
            Self::Address(value) => std::ptr::from_ref(value).cast(),
            Self::Int(value) => std::ptr::from_ref(value).cast(),
            Self::Float(value) => std::ptr::from_ref(value).cast(),
            Self::Turn(value) => std::ptr::from_ref(value).cast(),
        };
        pointer.cast_mut()
    }
}

impl Op {
    /// A kernel over `n` items, `per_block` of them a block.
    pub(super) fn kernel(
        name: &'static str,
        n: usize,
        per_block: usize,
        block: u32,
        arguments: Vec<Argument>,
    ) -> Self {
        let grid = (n.div_ceil(per_block).max(1) as u32, 1);
        Self::Kernel { name, grid, block, shared: 0, arguments }
    }

    /// A name for tables of times.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Kernel { name, .. } | Self::Product { name, .. } => name,
            Self::Clear { .. } => "clear",
        }
    }
}
