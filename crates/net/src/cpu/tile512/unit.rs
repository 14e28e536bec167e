//! The matrix unit (AMX) of Xeons since 2023: one instruction multiplies 16 rows of 16 words with 16 words of a panel, eight times the work
//! that AVX-512 does in the same time.
//!
//! A panel `[word][16]` is laid out as the unit reads it, so that the same weights serve both.

use std::arch::asm;
use std::arch::x86_64::{__cpuid_count, _xgetbv};
use std::sync::LazyLock;

use super::{Narrow, SIDE, UnitOperands, UnitSums, WIDE};

/// Bytes of a row of a tile.
const ROW_BYTES: usize = WIDE * 4;

/// The shape of all eight tiles: 16 rows of 64 bytes.
#[repr(C, align(64))]
struct Shapes {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes: [u16; 16],
    rows: [u8; 16],
}

static SHAPES: Shapes = {
    let (mut bytes, mut rows) = ([0; 16], [0; 16]);
    let mut tile = 0;
    while tile < 8 {
        (bytes[tile], rows[tile]) = (ROW_BYTES as u16, SIDE as u8);
        tile += 1;
    }
    Shapes { palette: 1, start_row: 0, reserved: [0; 14], bytes, rows }
};

/// Whether [`sums`] may be called: the processor has the unit for both kinds of numbers, and the kernel lets this process use it.
///
/// `MAVIS_CPU_AMX=0` forbids it, for the bits of other machines and to compare.
pub(super) fn is_usable() -> bool {
    static USABLE: LazyLock<bool> = LazyLock::new(|| is_wanted() && has_unit() && is_permitted());
    *USABLE
}

fn is_wanted() -> bool {
    std::env::var_os("MAVIS_CPU_AMX").is_none_or(|value| value != "0")
}

fn has_unit() -> bool {
    const BF16: u32 = 1 << 22;
    const TILES: u32 = 1 << 24;
    const INT8: u32 = 1 << 25;
    const TILE_STATE: u64 = 1 << 17 | 1 << 18;
    let needed = BF16 | TILES | INT8;
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("xsave")
        && __cpuid_count(7, 0).edx & needed == needed
        // SAFETY: the processor has the instruction, and the kernel has enabled it, or AVX-512 would not have been found.
        && unsafe { enabled_state() } & TILE_STATE == TILE_STATE
}

/// # Safety
/// The processor has `xgetbv`, and the kernel has enabled it.
#[target_feature(enable = "xsave")]
unsafe fn enabled_state() -> u64 {
    // SAFETY: the caller's promise.
    unsafe { _xgetbv(0) }
}

/// Asks the kernel for room to keep the tiles of every thread, which it gives only to those who ask (`arch_prctl(2)`).
fn is_permitted() -> bool {
    const ARCH_PRCTL: isize = 158;
    const REQUEST_PERMISSION: usize = 0x1023;
    const TILE_DATA: usize = 18;
    let mut result = ARCH_PRCTL;
    // SAFETY: the call reads and writes no memory of this process.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") result,
            in("rdi") REQUEST_PERMISSION,
            in("rsi") TILE_DATA,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result == 0
}

/// The products of one or two tiles of rows and two panels, `[row tile][panel]` of `[16][16]` each: whole numbers or floats, as the kind has
/// them.
///
/// # Safety
/// [`is_usable`], and the operands have the lengths that [`UnitOperands::check`] asserts.
pub(super) unsafe fn sums(kind: Narrow, operands: UnitOperands<'_>, out: &mut UnitSums) {
    let UnitOperands { rows, panels, n_words } = operands;
    let row_stride = n_words * 4;
    // One block from the shapes to the release, so that no other code meets the tiles.
    macro_rules! run {
        ($product:literal, rows: 16) => {
            asm!(
                "ldtilecfg [{shapes}]",
                "tilezero tmm0",
                "tilezero tmm1",
                "2:",
                "tileloadd tmm4, [{rows} + {row_stride}]",
                "tileloadd tmm6, [{panel} + {row_bytes}]",
                "tileloadd tmm7, [{other_panel} + {row_bytes}]",
                concat!($product, " tmm0, tmm4, tmm6"),
                concat!($product, " tmm1, tmm4, tmm7"),
                "add {rows}, 64",
                "add {panel}, 1024",
                "add {other_panel}, 1024",
                "dec {n}",
                "jnz 2b",
                "tilestored [{out} + {row_bytes}], tmm0",
                "tilestored [{out} + {row_bytes} + 1024], tmm1",
                "tilerelease",
                shapes = in(reg) &raw const SHAPES,
                rows = inout(reg) rows.as_ptr() => _,
                panel = inout(reg) panels[0].as_ptr() => _,
                other_panel = inout(reg) panels[1].as_ptr() => _,
                row_stride = in(reg) row_stride,
                row_bytes = in(reg) ROW_BYTES,
                n = inout(reg) n_words / WIDE => _,
                out = in(reg) out.as_mut_ptr(),
                out("tmm0") _, out("tmm1") _, out("tmm4") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            )
        };
        ($product:literal, rows: 32) => {
            asm!(
                "ldtilecfg [{shapes}]",
                "tilezero tmm0",
                "tilezero tmm1",
                "tilezero tmm2",
                "tilezero tmm3",
                "2:",
                "tileloadd tmm4, [{rows} + {row_stride}]",
                "tileloadd tmm6, [{panel} + {row_bytes}]",
                "tileloadd tmm5, [{more_rows} + {row_stride}]",
                "tileloadd tmm7, [{other_panel} + {row_bytes}]",
                concat!($product, " tmm0, tmm4, tmm6"),
                concat!($product, " tmm1, tmm4, tmm7"),
                concat!($product, " tmm2, tmm5, tmm6"),
                concat!($product, " tmm3, tmm5, tmm7"),
                "add {rows}, 64",
                "add {more_rows}, 64",
                "add {panel}, 1024",
                "add {other_panel}, 1024",
                "dec {n}",
                "jnz 2b",
                "tilestored [{out} + {row_bytes}], tmm0",
                "tilestored [{out} + {row_bytes} + 1024], tmm1",
                "tilestored [{out} + {row_bytes} + 2048], tmm2",
                "tilestored [{out} + {row_bytes} + 3072], tmm3",
                "tilerelease",
                shapes = in(reg) &raw const SHAPES,
                rows = inout(reg) rows.as_ptr() => _,
                more_rows = inout(reg) rows.as_ptr().byte_add(SIDE * row_stride) => _,
                panel = inout(reg) panels[0].as_ptr() => _,
                other_panel = inout(reg) panels[1].as_ptr() => _,
                row_stride = in(reg) row_stride,
                row_bytes = in(reg) ROW_BYTES,
                n = inout(reg) n_words / WIDE => _,
                out = in(reg) out.as_mut_ptr(),
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            )
        };
    }
    // SAFETY: by the lengths of rows and panels, turn `i` of `n_words / 16` reads words `16 i..16 (i + 1)` of each row and panel; the sums have
    // room for four tiles of 1,024 bytes.
    unsafe {
        match (kind, rows.len() > SIDE * n_words) {
            (Narrow::Bf16, false) => run!("tdpbf16ps", rows: 16),
            (Narrow::Bf16, true) => run!("tdpbf16ps", rows: 32),
            (Narrow::Int8, false) => run!("tdpbusd", rows: 16),
            (Narrow::Int8, true) => run!("tdpbusd", rows: 32),
        }
    }
}
