//! The attention kernels beside a plain computation of the same.

use super::{Arguments, Shadow, narrow, read_argument, widen};
use crate::cuda::check::Comparison;
use crate::cuda::check::reference::{Head, norm_gradient, rotate};
use crate::cuda::network::GAIN_SLOTS;
use crate::cuda::op::{Argument, Op, Turn};
use crate::cuda::spans::SPAN;
use crate::error::NetError;

/// First token and length.
type Span = (usize, usize);

impl Shadow<'_> {
    /// First token and length of each sequence in the list of tiles, and of each run of unused tokens.
    fn sequences(&self, a: &Arguments<'_>, n_tiles: usize) -> Result<[Vec<Span>; 2], NetError> {
        let tiles = a.ints(2, 4 * n_tiles)?;
        let (mut used, mut unused) = (Vec::new(), Vec::new());
        for tile in tiles.chunks(4) {
            match (tile[1], tile[2]) {
                (0, row) => unused.push(((tile[0] + row) as usize, tile[3] as usize)),
                (len, 0) => used.push((tile[0] as usize, len as usize)),
                _ => {}
            }
        }
        Ok([used, unused])
    }

    /// One head of one sequence off the device's copies.
    fn head(
        &self,
        qk: &[f64],
        qkv: &[f64],
        masks: [&[i32]; 2],
        (start, len): (usize, usize),
        head: usize,
    ) -> Head {
        let (d, hd) = (self.d(), self.net.config.head_dim());
        let rows = |from: &[f64], width: usize, column: usize| {
            (start..start + len).map(|t| from[t * width + column..][..hd].to_vec()).collect::<Vec<_>>()
        };
        Head {
            q: rows(qk, 2 * d, head * hd),
            k: rows(qk, 2 * d, d + head * hd),
            v: rows(qkv, 3 * d, 2 * d + head * hd),
            prefix_end: masks[0][start..start + len].to_vec(),
            branch_start: masks[1][start..start + len].to_vec(),
            scale: 1.0 / (hd as f64).sqrt(),
        }
    }

    pub(super) fn attention_fwd(
        &self,
        op: &Op,
        a: &Arguments<'_>,
        grid: usize,
    ) -> Result<Vec<Comparison>, NetError> {
        let (d, hd, heads) = (self.d(), self.net.config.head_dim(), self.net.config.n_heads);
        // Kernels over tiles have one argument more than those over spans.
        let walks = op.name() == "attention_fwd";
        let at = 4 + usize::from(walks);
        let n = a.int(at + 4);
        let (qk, qkv) = (a.half(0, n * 2 * d)?, a.half(1, n * 3 * d)?);
        let (pe, bs) = (a.ints(at, n)?, a.ints(at + 1, n)?);
        self.net.device.run(op)?;
        let (out, lse) = (a.half(at + 2, n * d)?, a.full(at + 3, heads * n)?);
        let [used, _] =
            if walks { self.sequences(a, a.counts()?[5] as usize)? } else { self.spans(a, grid / heads)? };
        let (mut got, mut expected, mut got_lse, mut expected_lse) = (vec![], vec![], vec![], vec![]);
        for &(start, len) in &used {
            for h in 0..heads {
                let (rows, sums) = self.head(&qk, &qkv, [&pe, &bs], (start, len), h).forward();
                for (i, row) in rows.iter().enumerate() {
                    got.extend(narrow(out[(start + i) * d + h * hd..][..hd].to_vec()));
                    expected.extend(row);
                    got_lse.push(lse[h * n + start + i] as f32);
                }
                expected_lse.extend(sums);
            }
        }
        Ok(vec![
            Comparison::new(format!("{} out", op.name()), &got, &expected, 6e-3),
            Comparison::new(format!("{} lse", op.name()), &got_lse, &expected_lse, 1e-4),
        ])
    }

    /// Sequences and unused tokens of a launch over short ones.
    fn spans(&self, a: &Arguments<'_>, n_spans: usize) -> Result<[Vec<Span>; 2], NetError> {
        let (mut used, mut unused) = (Vec::new(), Vec::new());
        for span in a.ints(2, SPAN * n_spans)?.chunks(SPAN) {
            match span[1] {
                0 => unused.push((span[0] as usize, span[3] as usize)),
                len => used.push((span[0] as usize, len as usize)),
            }
        }
        Ok([used, unused])
    }

    pub(super) fn attention_bwd(
        &self,
        op: &Op,
        a: &Arguments<'_>,
        grid: usize,
    ) -> Result<Vec<Comparison>, NetError> {
        let (d, hd, heads, config) =
            (self.d(), self.net.config.head_dim(), self.net.config.n_heads, &self.net.config);
        let at = Places::of(op.name());
        let n = a.int(at.turns[at.turns.len() - 1] + 1);
        let (qk, qkv) = (a.half(0, n * 2 * d)?, a.half(1, n * 3 * d)?);
        let (pe, bs) = (a.ints(at.masks, n)?, a.ints(at.masks + 1, n)?);
        let (out, dout) = (a.half(at.out, n * d)?, a.half(at.dout, n * d)?);
        let turns: Vec<Turn> = (at.turns.iter())
            .filter_map(|i| if let Argument::Turn(turn) = a.list[*i] { Some(turn) } else { None })
            .collect();
        let before = turns.iter().map(|turn| self.gain_sums(turn)).collect::<Result<Vec<_>, _>>()?;
        self.net.device.run(op)?;
        let dqkv = a.half(at.dqkv, n * 3 * d)?;
        let left = at.delta.map(|i| a.full(i, heads * n)).transpose()?;
        let table = crate::cuda::network::rotation_table(config);
        let positions = read_argument::<i32>(&self.net.device, turns[0].positions, n)?;
        let gains = turns.iter().map(|turn| self.gain(turn)).collect::<Result<Vec<_>, _>>()?;
        let mut dgains = vec![vec![0.0; hd]; turns.len()];
        let mut pairs: Vec<(Vec<f32>, Vec<f64>)> = vec![Default::default(); at.parts.len()];
        let (mut got_delta, mut expected_delta) = (vec![], vec![]);
        let [used, unused] = match at.delta {
            Some(_) => self.sequences(a, a.counts()?[5] as usize)?,
            None => self.spans(a, grid / heads)?,
        };
        for &(start, len) in &used {
            for h in 0..heads {
                let rows = |from: &[f64]| {
                    (start..start + len).map(|t| from[t * d + h * hd..][..hd].to_vec()).collect::<Vec<_>>()
                };
                let (o, g) = (rows(&out), rows(&dout));
                let mut delta: Vec<f64> =
                    o.iter().zip(&g).map(|(o, g)| o.iter().zip(g).map(|(o, g)| o * g).sum()).collect();
                if let Some(left) = &left {
                    let left = left[h * n + start..][..len].to_vec();
                    if at.parts == [0] {
                        got_delta.extend(narrow(left.clone()));
                        expected_delta.extend(delta);
                    }
                    delta = left;
                }
                let gradient = self.head(&qk, &qkv, [&pe, &bs], (start, len), h).backward(&g, &delta);
                for (slot, (&part, (got, expected))) in at.parts.iter().zip(&mut pairs).enumerate() {
                    for i in 0..len {
                        let column = part * d + h * hd;
                        got.extend(narrow(dqkv[(start + i) * 3 * d + column..][..hd].to_vec()));
                        let row = [&gradient.q, &gradient.k, &gradient.v][part][i].clone();
                        if part == 2 {
                            expected.extend(row);
                            continue;
                        }
                        let row = rotate(&row, &table[positions[start + i] as usize * hd / 2..], true);
                        if config.qk_norm {
                            let x = &qkv[(start + i) * 3 * d + column..][..hd];
                            let (dx, dw) = norm_gradient(&row, x, &gains[slot], f64::from(config.norm_eps));
                            expected.extend(dx);
                            dgains[slot].iter_mut().zip(&dw).for_each(|(a, b)| *a += b);
                        } else {
                            expected.extend(row);
                        }
                    }
                }
            }
        }
        for (start, len) in unused {
            for (&part, (got, expected)) in at.parts.iter().zip(&mut pairs) {
                for t in start..start + len {
                    got.extend(narrow(dqkv[t * 3 * d + part * d..][..d].to_vec()));
                    expected.extend(vec![0.0; d]);
                }
            }
        }
        let name = |part: usize| format!("{} {}", at.name, ["dq", "dk", "dv"][part]);
        let mut comparisons: Vec<Comparison> = (at.parts.iter().zip(&pairs))
            .map(|(&part, (got, expected))| Comparison::new(name(part), got, expected, 1.2e-2))
            .collect();
        if at.parts == [0] {
            let name = format!("{} delta", at.name);
            comparisons.push(Comparison::new(name, &got_delta, &expected_delta, 1e-4));
        }
        if config.qk_norm {
            for (slot, turn) in turns.iter().enumerate() {
                let after = self.gain_sums(turn)?;
                let got: Vec<f32> = after.iter().zip(&before[slot]).map(|(a, b)| (a - b) as f32).collect();
                let name = name(at.parts[slot]) + " gain";
                comparisons.push(Comparison::new(name, &got, &dgains[slot], 1.2e-2));
            }
        }
        Ok(comparisons)
    }

    /// The gradient of a gain so far.
    fn gain_sums(&self, turn: &Turn) -> Result<Vec<f64>, NetError> {
        let hd = self.net.config.head_dim();
        if !self.net.config.qk_norm {
            return Ok(vec![0.0; hd]);
        }
        let slots = read_argument::<f32>(&self.net.device, turn.slots, GAIN_SLOTS * hd)?;
        Ok((0..hd).map(|c| slots.iter().skip(c).step_by(hd).map(|x| f64::from(*x)).sum()).collect())
    }

    fn gain(&self, turn: &Turn) -> Result<Vec<f64>, NetError> {
        let hd = self.net.config.head_dim();
        if self.net.config.qk_norm {
            Ok(widen(&read_argument::<f32>(&self.net.device, turn.gain, hd)?))
        } else {
            Ok(vec![1.0; hd])
        }
    }
}

/// Where a kernel of the backward pass has its arguments, and which of the gradients of queries, keys and values it makes.
struct Places {
    name: &'static str,
    parts: &'static [usize],
    masks: usize,
    out: usize,
    dout: usize,
    /// Left behind or taken by the kernels that walk over tiles.
    delta: Option<usize>,
    dqkv: usize,
    turns: &'static [usize],
}

impl Places {
    fn of(name: &'static str) -> Self {
        match name {
            "attention_bwd_q" => Self {
                name: "attention_bwd",
                parts: &[0],
                masks: 5,
                out: 7,
                dout: 8,
                delta: Some(10),
                dqkv: 11,
                turns: &[12],
            },
            "attention_bwd_kv" => Self {
                name: "attention_bwd",
                parts: &[1, 2],
                masks: 5,
                out: 7,
                dout: 7,
                delta: Some(9),
                dqkv: 10,
                turns: &[11],
            },
            _ => Self {
                name,
                parts: &[0, 1, 2],
                masks: 4,
                out: 6,
                dout: 7,
                delta: None,
                dqkv: 9,
                turns: &[10, 11],
            },
        }
    }
}
