//! The attention kernels beside a plain computation of the same.

use super::{Arguments, Shadow, narrow, widen};
use crate::cuda::check::Comparison;
use crate::cuda::check::reference::{Head, norm_gradient, rotate};
use crate::cuda::network::GAIN_SLOTS;
use crate::cuda::op::{Argument, Op, Turn};
use crate::error::NetError;

/// First token and length.
type Span = (usize, usize);

impl Shadow<'_> {
    /// First token and length of each sequence in the list of tiles, and of each run of unused tokens.
    fn sequences(&self, a: &Arguments<'_>) -> Result<[Vec<Span>; 2], NetError> {
        let n_tiles = a.counts()?[2] as usize;
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

    pub(super) fn attention_fwd(&self, op: &Op, a: &Arguments<'_>) -> Result<Vec<Comparison>, NetError> {
        let (d, n, hd, heads) = (self.d(), a.int(9), self.net.config.head_dim(), self.net.config.n_heads);
        let (qk, qkv, pe, bs) = (a.half(0, n * 2 * d)?, a.half(1, n * 3 * d)?, a.ints(5, n)?, a.ints(6, n)?);
        self.net.device.run(op)?;
        let (out, lse) = (a.half(7, n * d)?, a.full(8, heads * n)?);
        let (mut got, mut expected, mut got_lse, mut expected_lse) = (vec![], vec![], vec![], vec![]);
        for &(start, len) in &self.sequences(a)?[0] {
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
            Comparison::new("attention_fwd out", &got, &expected, 6e-3),
            Comparison::new("attention_fwd lse", &got_lse, &expected_lse, 1e-4),
        ])
    }

    pub(super) fn attention_bwd(
        &self,
        op: &Op,
        a: &Arguments<'_>,
        queries: bool,
    ) -> Result<Vec<Comparison>, NetError> {
        let (d, hd, heads, config) =
            (self.d(), self.net.config.head_dim(), self.net.config.n_heads, &self.net.config);
        let (out, dout, delta, dqkv, turn) = if queries { (7, 8, 10, 11, 12) } else { (7, 7, 9, 10, 11) };
        let n = a.int(turn + 1);
        let (qk, qkv, pe, bs) = (a.half(0, n * 2 * d)?, a.half(1, n * 3 * d)?, a.ints(5, n)?, a.ints(6, n)?);
        let (out, dout) = (a.half(out, n * d)?, a.half(dout, n * d)?);
        let Argument::Turn(turn) = a.list[turn] else { return Ok(Vec::new()) };
        self.net.device.run(op)?;
        let (delta, dqkv) = (a.full(delta, heads * n)?, a.half(dqkv, n * 3 * d)?);
        let (positions, table) =
            (self.net.device.read::<i32>(turn.positions, n)?, crate::cuda::network::rotation_table(config));
        let gain = self.gain(&turn)?;
        let mut dgain = vec![0.0; hd];
        let names: &[(&str, usize)] = if queries { &[("dq", 0)] } else { &[("dk", 1), ("dv", 2)] };
        let mut pairs: Vec<(Vec<f32>, Vec<f64>)> = vec![Default::default(); names.len()];
        let (mut got_delta, mut expected_delta) = (vec![], vec![]);
        let [used, unused] = self.sequences(a)?;
        for &(start, len) in &used {
            for h in 0..heads {
                let rows = |from: &[f64]| {
                    (start..start + len).map(|t| from[t * d + h * hd..][..hd].to_vec()).collect::<Vec<_>>()
                };
                let (o, g) = (rows(&out), rows(&dout));
                let delta = &delta[h * n + start..][..len];
                if queries {
                    got_delta.extend(narrow(delta.to_vec()));
                    expected_delta.extend(
                        o.iter().zip(&g).map(|(o, g)| o.iter().zip(g).map(|(o, g)| o * g).sum::<f64>()),
                    );
                }
                let gradient = self.head(&qk, &qkv, [&pe, &bs], (start, len), h).backward(&g, delta);
                for ((_, part), (got, expected)) in names.iter().zip(&mut pairs) {
                    for i in 0..len {
                        let column = part * d + h * hd;
                        got.extend(narrow(dqkv[(start + i) * 3 * d + column..][..hd].to_vec()));
                        let row = [&gradient.q, &gradient.k, &gradient.v][*part][i].clone();
                        if *part == 2 {
                            expected.extend(row);
                            continue;
                        }
                        let row = rotate(&row, &table[positions[start + i] as usize * hd / 2..], true);
                        if config.qk_norm {
                            let x = &qkv[(start + i) * 3 * d + column..][..hd];
                            let (dx, dw) = norm_gradient(&row, x, &gain, f64::from(config.norm_eps));
                            expected.extend(dx);
                            dgain.iter_mut().zip(&dw).for_each(|(a, b)| *a += b);
                        } else {
                            expected.extend(row);
                        }
                    }
                }
            }
        }
        for (start, len) in unused {
            for ((_, part), (got, expected)) in names.iter().zip(&mut pairs) {
                for t in start..start + len {
                    got.extend(narrow(dqkv[t * 3 * d + part * d..][..d].to_vec()));
                    expected.extend(vec![0.0; d]);
                }
            }
        }
        let mut comparisons: Vec<Comparison> = (names.iter().zip(&pairs))
            .map(|((name, _), (got, expected))| {
                Comparison::new(format!("attention_bwd {name}"), got, expected, 1.2e-2)
            })
            .collect();
        if queries {
            comparisons.push(Comparison::new("attention_bwd delta", &got_delta, &expected_delta, 1e-4));
        }
        if config.qk_norm {
            let slots = self.net.device.read::<f32>(turn.slots, GAIN_SLOTS * hd)?;
            let got: Vec<f32> = (0..hd).map(|c| slots.iter().skip(c).step_by(hd).sum()).collect();
            comparisons.push(Comparison::new(
                format!("attention_bwd {} gain", names[0].0),
                &got,
                &dgain,
                1.2e-2,
            ));
        }
        Ok(comparisons)
    }

    fn gain(&self, turn: &Turn) -> Result<Vec<f64>, NetError> {
        let hd = self.net.config.head_dim();
        if self.net.config.qk_norm {
            Ok(widen(&self.net.device.read::<f32>(turn.gain, hd)?))
        } else {
            Ok(vec![1.0; hd])
        }
    }
}
