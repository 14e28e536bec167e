//! Matrix products by cuBLASLt: bf16 in, f32 sums, bf16 or f32 out.

use std::collections::HashMap;
use std::sync::Arc;

use cudarc::cublaslt::{result as ltr, sys as lt};
use cudarc::driver::{CudaContext, CudaStream};

use super::gpu::{Gpu, failed};
use super::memory::Buffer;
use super::op::{Op, Operands};
use crate::error::NetError;

/// Scratch memory a product may use.
const WORKSPACE: usize = 64 << 20;

/// Algorithms the heuristic is asked for when some will be left out.
const MOST_CANDIDATES: usize = 100;

/// How thoroughly the algorithm of a product is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    /// Algorithms the heuristic is asked for, all of which are timed.
    candidates: usize,
    /// Rounds of calls, of which the best counts.
    rounds: usize,
    /// Microseconds of a round, about.
    micros: f64,
}

impl Tuning {
    /// For training, which runs a few shapes for hours.
    pub(super) const THOROUGH: Self = Self { candidates: 40, rounds: 3, micros: 400.0 };
    /// For inference, where every size of a batch brings shapes of its own, for which a search has to wait.
    pub(super) const QUICK: Self = Self { candidates: 8, rounds: 1, micros: 60.0 };
    /// The first choice of the heuristic, which is not timed.
    pub(super) const FIRST: Self = Self { candidates: 1, rounds: 1, micros: 0.0 };
}

/// Shape of a product in cuBLAS' terms: column-major, `d[m, n] = op(a)[m, k] op(b)[k, n]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    /// Rows of the result.
    pub(super) m: usize,
    /// Columns of the result.
    pub(super) n: usize,
    /// Length of the sums.
    pub(super) k: usize,
    /// `a` is stored transposed.
    pub(super) ta: bool,
    /// `b` is stored transposed.
    pub(super) tb: bool,
    /// The result is f32.
    pub(super) f32_out: bool,
    /// Products of this shape at once, each matrix right behind the last.
    pub(super) batch: usize,
}

impl Shape {
    /// `y[n, out] = x[n, in] w[out, in]^T`, all row-major; operands `(w, x, y)`.
    pub(super) fn forward(n: usize, input: usize, output: usize) -> Self {
        Self { m: output, n, k: input, ta: true, tb: false, f32_out: false, batch: 1 }
    }

    /// `dx[n, in] = dy[n, out] w[out, in]`; operands `(w, dy, dx)`.
    pub(super) fn data_gradient(n: usize, input: usize, output: usize) -> Self {
        Self { m: input, n, k: output, ta: false, tb: false, f32_out: false, batch: 1 }
    }

    /// `dw[out, in] = dy[n, out]^T x[n, in]`; operands `(x, dy, dw)`.
    pub(super) fn weight_gradient(n: usize, input: usize, output: usize) -> Self {
        Self { m: input, n: output, k: n, ta: false, tb: true, f32_out: true, batch: 1 }
    }

    /// Operations, counting an addition and a multiplication each.
    pub(super) fn flops(&self) -> f64 {
        2.0 * (self.m * self.n * self.k * self.batch) as f64
    }
}

/// Descriptors of a product and the algorithm chosen for it.
struct Plan {
    shape: Shape,
    operation: lt::cublasLtMatmulDesc_t,
    a: lt::cublasLtMatrixLayout_t,
    b: lt::cublasLtMatrixLayout_t,
    d: lt::cublasLtMatrixLayout_t,
    algorithm: lt::cublasLtMatmulAlgo_t,
    microseconds: f64,
}

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: made by `candidates` for this plan alone, and destroyed once; products under way keep no hold of descriptors.
        unsafe {
            let _nothing_to_do = ltr::destroy_matmul_desc(self.operation);
            for layout in [self.a, self.b, self.d] {
                let _nothing_to_do = ltr::destroy_matrix_layout(layout);
            }
        }
    }
}

/// The library and the plans made so far. Plans are small and live as long as this does.
pub(super) struct Blas {
    handle: lt::cublasLtHandle_t,
    workspace: Buffer,
    plans: Vec<Plan>,
    by_shape: HashMap<Shape, usize>,
    /// How plans are chosen from now on.
    pub(super) tuning: Tuning,
    /// Whether plans may run as clusters of blocks, as the library prefers on Hopper.
    clusters: bool,
}

impl Drop for Blas {
    fn drop(&mut self) {
        // A failure here means the context is gone, and the library's memory with it.
        let _gone_with_context = self.workspace.bind();
        self.plans.clear();
        // SAFETY: made by `new`, destroyed once; it waits for products under way.
        let _gone_with_context = unsafe { ltr::destroy_handle(self.handle) };
    }
}

impl Blas {
    /// Opens the library; the context must be current.
    pub(super) fn new(context: &Arc<CudaContext>) -> Result<Self, NetError> {
        let handle = ltr::create_handle().map_err(failed("cublasLtCreate"))?;
        let workspace = Buffer::zeroed(context, WORKSPACE)?;
        let tuning = Tuning::THOROUGH;
        let (plans, by_shape) = (Vec::new(), HashMap::new());
        // Clusters fail now and then where programs share a GPU, and gain next to nothing (docs/performance.md).
        let clusters = std::env::var_os("MAVIS_CUDA_CLUSTERS").is_some_and(|value| value == "1");
        Ok(Self { handle, workspace, plans, by_shape, tuning, clusters })
    }

    /// Version of the library.
    pub(super) fn version(&self) -> usize {
        // SAFETY: asks a number of the loaded library.
        unsafe { lt::cublasLtGetVersion() }
    }

    /// Starts a product.
    pub(super) fn run(&self, plan: usize, operands: &Operands, stream: &CudaStream) -> Result<(), NetError> {
        let plan = self.plans.get(plan).ok_or_else(|| NetError::Device("no such plan".into()))?;
        self.multiply(plan, &plan.algorithm, operands, stream)
    }

    /// Shape and best time of a plan.
    pub(super) fn describe(&self, plan: usize) -> Option<(Shape, f64)> {
        self.plans.get(plan).map(|plan| (plan.shape, plan.microseconds))
    }

    /// Shape and algorithm of a plan, for errors.
    pub(super) fn explain(&self, plan: usize) -> String {
        self.plans.get(plan).map_or_else(
            || "no such plan".into(),
            |plan| format!("{:?}, {}", plan.shape, configuration(&plan.algorithm)),
        )
    }

    /// Shapes and algorithms of the plans whose shape is asked for, for errors.
    pub(super) fn explain_plans(&self, asked: impl Fn(&Shape) -> bool) -> String {
        let plans = (0..self.plans.len()).filter(|plan| asked(&self.plans[*plan].shape));
        plans.map(|plan| self.explain(plan)).collect::<Vec<_>>().join("; ")
    }

    fn multiply(
        &self,
        plan: &Plan,
        algorithm: &lt::cublasLtMatmulAlgo_t,
        operands: &Operands,
        stream: &CudaStream,
    ) -> Result<(), NetError> {
        let (alpha, beta) = (operands.alpha, operands.beta);
        // SAFETY: the layouts describe the buffers at these addresses, which their owner keeps alive; scalars are read before the call
        // returns; products run on one stream, so they share the workspace in turn.
        unsafe {
            ltr::matmul(
                self.handle,
                plan.operation,
                std::ptr::from_ref(&alpha).cast(),
                std::ptr::from_ref(&beta).cast(),
                operands.a as *const _,
                plan.a,
                operands.b as *const _,
                plan.b,
                operands.c as *const _,
                plan.d,
                operands.d as *mut _,
                plan.d,
                algorithm,
                self.workspace.address as *mut _,
                WORKSPACE,
                stream.cu_stream().cast(),
            )
        }
        .map_err(|error| NetError::Device(format!("cublasLtMatmul {:?}: {error:?}", plan.shape)))
    }

    /// Asks the heuristic for candidates.
    fn candidates(&self, shape: Shape) -> Result<(Plan, Vec<lt::cublasLtMatmulAlgo_t>), NetError> {
        let bf16 = lt::cudaDataType::CUDA_R_16BF;
        let out = if shape.f32_out { lt::cudaDataType::CUDA_R_32F } else { bf16 };
        let operation = ltr::create_matmul_desc(
            lt::cublasComputeType_t::CUBLAS_COMPUTE_32F,
            lt::cudaDataType::CUDA_R_32F,
        )
        .map_err(failed("matmul descriptor"))?;
        // CUBLAS_OP_N is 0, CUBLAS_OP_T is 1.
        for (attribute, transposed) in [
            (lt::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSA, shape.ta),
            (lt::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSB, shape.tb),
        ] {
            let value = i32::from(transposed);
            // SAFETY: the attribute is four bytes.
            unsafe {
                ltr::set_matmul_desc_attribute(operation, attribute, std::ptr::from_ref(&value).cast(), 4)
            }
            .map_err(failed("transposition"))?;
        }
        let stored = |rows, columns, transposed| if transposed { (columns, rows) } else { (rows, columns) };
        let a = layout(bf16, stored(shape.m, shape.k, shape.ta), shape.batch)?;
        let b = layout(bf16, stored(shape.k, shape.n, shape.tb), shape.batch)?;
        let d = layout(out, (shape.m, shape.n), shape.batch)?;
        let preference = ltr::create_matmul_pref().map_err(failed("preference"))?;
        // Some algorithms exist as clusters alone, so that few of a short list may be left without them.
        let n_candidates = if self.clusters { self.tuning.candidates } else { MOST_CANDIDATES };
        let mut found: Vec<lt::cublasLtMatmulHeuristicResult_t> = Vec::with_capacity(n_candidates);
        // SAFETY: all descriptors are live; `found` has room for as many results as are asked for, and its length is set to what was written.
        unsafe {
            let limit = WORKSPACE;
            ltr::set_matmul_pref_attribute(
                preference,
                lt::cublasLtMatmulPreferenceAttributes_t::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                std::ptr::from_ref(&limit).cast(),
                8,
            )
            .map_err(failed("workspace limit"))?;
            let mut count = 0;
            lt::cublasLtMatmulAlgoGetHeuristic(
                self.handle,
                operation,
                a,
                b,
                d,
                d,
                preference,
                n_candidates as i32,
                found.as_mut_ptr(),
                &mut count,
            )
            .result()
            .map_err(|error| NetError::Device(format!("no algorithm for {shape:?}: {error:?}")))?;
            found.set_len(count as usize);
            ltr::destroy_matmul_pref(preference).map_err(failed("preference"))?;
        }
        let mut algorithms: Vec<_> = found
            .iter()
            .filter(|f| f.state == lt::cublasStatus_t::CUBLAS_STATUS_SUCCESS)
            .map(|f| f.algo)
            .collect();
        if !self.clusters {
            // For Hopper the library names clusters almost always; the algorithms of most run as single blocks too.
            let alone: Vec<_> = algorithms
                .iter()
                .filter_map(|algorithm| {
                    let alone = as_one_block(algorithm)?;
                    // SAFETY: all descriptors are live; the result is written where it points.
                    let checked = unsafe {
                        let mut result = std::mem::zeroed();
                        lt::cublasLtMatmulAlgoCheck(
                            self.handle,
                            operation,
                            a,
                            b,
                            d,
                            d,
                            &raw const alone,
                            &raw mut result,
                        )
                        .result()
                        .map(|()| result)
                    };
                    checked.is_ok_and(|result| result.workspaceSize <= WORKSPACE).then_some(alone)
                })
                .collect();
            if !alone.is_empty() {
                algorithms = alone;
            }
            algorithms.truncate(self.tuning.candidates);
        }
        let Some(&algorithm) = algorithms.first() else {
            return Err(NetError::Device(format!("no algorithm for {shape:?}")));
        };
        Ok((Plan { shape, operation, a, b, d, algorithm, microseconds: f64::NAN }, algorithms))
    }
}

/// The numbers by which the library tells algorithms apart, for errors.
fn configuration(algorithm: &lt::cublasLtMatmulAlgo_t) -> String {
    use lt::cublasLtMatmulAlgoConfigAttributes_t as Attribute;
    let attributes = [
        ("id", Attribute::CUBLASLT_ALGO_CONFIG_ID, 4),
        ("tile", Attribute::CUBLASLT_ALGO_CONFIG_TILE_ID, 4),
        ("stages", Attribute::CUBLASLT_ALGO_CONFIG_STAGES_ID, 4),
        ("split_k", Attribute::CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4),
        ("reduction", Attribute::CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4),
        ("swizzling", Attribute::CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4),
        ("custom", Attribute::CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4),
        ("inner", Attribute::CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2),
        ("cluster", Attribute::CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2),
    ];
    let mut text = String::from("algorithm");
    for (name, which, bytes) in attributes {
        let value = attribute(algorithm, which, bytes);
        text += &value.map_or_else(|| format!(" {name} ?"), |value| format!(" {name} {value}"));
    }
    text
}

/// A number of `bytes` bytes, four at most, by which the library tells algorithms apart.
fn attribute(
    algorithm: &lt::cublasLtMatmulAlgo_t,
    which: lt::cublasLtMatmulAlgoConfigAttributes_t,
    bytes: usize,
) -> Option<u32> {
    // Shorter attributes fill the low bytes, on the processors that have such GPUs.
    let (mut value, mut written) = (0u32, 0usize);
    let to = std::ptr::from_mut(&mut value).cast();
    // SAFETY: the attribute has `bytes` bytes, at most the four of `value`.
    let found = unsafe {
        lt::cublasLtMatmulAlgoConfigGetAttribute(algorithm, which, to, bytes.min(4), &mut written).result()
    };
    found.is_ok().then_some(value)
}

/// The same algorithm on single blocks, which the library may not have; algorithms without a cluster shape, for older GPUs, run so anyway.
fn as_one_block(algorithm: &lt::cublasLtMatmulAlgo_t) -> Option<lt::cublasLtMatmulAlgo_t> {
    let shape = lt::cublasLtMatmulAlgoConfigAttributes_t::CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID;
    let mut alone = *algorithm;
    if attribute(algorithm, shape, 2).is_some() {
        let one_block = lt::cublasLtClusterShape_t::CUBLASLT_CLUSTER_SHAPE_1x1x1 as u16;
        // SAFETY: the attribute is two bytes.
        unsafe {
            lt::cublasLtMatmulAlgoConfigSetAttribute(&raw mut alone, shape, (&raw const one_block).cast(), 2)
                .result()
                .ok()?;
        }
    }
    Some(alone)
}

/// A column-major matrix without gaps.
fn layout(
    kind: lt::cudaDataType,
    (rows, columns): (usize, usize),
    batch: usize,
) -> Result<lt::cublasLtMatrixLayout_t, NetError> {
    let layout = ltr::create_matrix_layout(kind, rows as u64, columns as u64, rows as i64)
        .map_err(failed("matrix layout"))?;
    if batch > 1 {
        let (count, stride) = (batch as i32, (rows * columns) as i64);
        // SAFETY: the attributes are four and eight bytes.
        unsafe {
            ltr::set_matrix_layout_attribute(
                layout,
                lt::cublasLtMatrixLayoutAttribute_t::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                std::ptr::from_ref(&count).cast(),
                4,
            )
            .map_err(failed("batch count"))?;
            ltr::set_matrix_layout_attribute(
                layout,
                lt::cublasLtMatrixLayoutAttribute_t::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                std::ptr::from_ref(&stride).cast(),
                8,
            )
            .map_err(failed("batch stride"))?;
        }
    }
    Ok(layout)
}

impl Gpu {
    /// The plan for a shape. The first time, the heuristic's candidates are timed on noise and the fastest is kept: on an H200 that is up to a
    /// third faster than the first candidate.
    pub(super) fn plan(&mut self, shape: Shape) -> Result<usize, NetError> {
        if let Some(&plan) = self.blas.by_shape.get(&shape) {
            return Ok(plan);
        }
        let (mut plan, algorithms) = self.blas.candidates(shape)?;
        if algorithms.len() > 1 {
            let noise = |count: usize| -> Result<Buffer, NetError> {
                let buffer = self.zeroed(count * 2)?;
                self.run(&fill_noise(&buffer))?;
                Ok(buffer)
            };
            let (a, b) = (noise(shape.m * shape.k * shape.batch)?, noise(shape.n * shape.k * shape.batch)?);
            let d = self.zeroed(shape.m * shape.n * shape.batch * 4)?;
            let operands = Operands::plain(a.address, b.address, d.address);
            plan.microseconds = f64::INFINITY;
            for algorithm in algorithms {
                // A candidate that is refused on this machine is passed over; if all are, the first is kept and reports why when it runs. One that
                // faults is not: nothing runs on the device after that.
                let time = self.time(&|| self.blas.multiply(&plan, &algorithm, &operands, &self.stream));
                self.synchronize().map_err(|error| {
                    let configuration = configuration(&algorithm);
                    NetError::Device(format!("timing a product, {shape:?}, {configuration}: {error}"))
                })?;
                if let Ok(time) = time
                    && time < plan.microseconds
                {
                    (plan.microseconds, plan.algorithm) = (time, algorithm);
                }
            }
        }
        self.blas.plans.push(plan);
        let index = self.blas.plans.len() - 1;
        self.blas.by_shape.insert(shape, index);
        Ok(index)
    }

    /// Microseconds of one call: the best round of several calls between two events.
    pub(super) fn time(&self, call: &dyn Fn() -> Result<(), NetError>) -> Result<f64, NetError> {
        let (begin, end) = (self.event(true)?, self.event(true)?);
        let round = |n: usize| -> Result<f64, NetError> {
            begin.record(&self.stream).map_err(failed("event"))?;
            for _ in 0..n {
                call()?;
            }
            end.record(&self.stream).map_err(failed("event"))?;
            Ok(f64::from(begin.elapsed_ms(&end).map_err(failed("a timed launch"))?) * 1e3 / n as f64)
        };
        let Tuning { rounds, micros, .. } = self.blas.tuning;
        round(1)?;
        let n = ((micros / round(2)?.max(1.0)) as usize).clamp(2, 50);
        (0..rounds).map(|_| round(n)).try_fold(f64::INFINITY, |best, time| Ok(best.min(time?)))
    }

    /// A product of this shape.
    pub(super) fn product(
        &mut self,
        name: &'static str,
        shape: Shape,
        operands: Operands,
    ) -> Result<Op, NetError> {
        Ok(Op::Product { name, plan: self.plan(shape)?, operands })
    }
}

/// Fills a buffer with bf16 noise between -1 and 1.
pub(super) fn fill_noise(buffer: &Buffer) -> Op {
    use super::op::Argument::{Address, Int};
    let n = buffer.bytes / 4;
    Op::kernel("fill_noise", n, 256, 256, vec![Address(buffer.address), Int(n as i32)])
}
