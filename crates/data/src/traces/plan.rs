//! Which trees are written for a root.

use mavis_game::Rules;
use mavis_lang::{
    Top,
    trace::{Order, Shape},
};
use rand::{Rng, seq::IndexedRandom};

/// Breadth and depth as in paper 001: breadth 2 to 5, depth 1 to 3, without the largest.
pub const DEFAULT_SIZES: [(u16, u16); 11] =
    [(2, 1), (3, 1), (4, 1), (5, 1), (2, 2), (3, 2), (4, 2), (5, 2), (2, 3), (3, 3), (4, 3)];

/// Draws for one root: sizes are few, and none is drawn twice.
const MOST_DRAWS: usize = 1_000;

/// What is drawn for each root.
#[derive(Clone, PartialEq, Debug)]
pub struct TracePlan {
    /// Traces of one root, each of another size, if so many fit.
    pub per_root: usize,
    /// Breadth and depth to draw from.
    pub sizes: Vec<(u16, u16)>,
    /// Share of traces in compact form.
    pub compact: f64,
    /// Share of traces written breadth first.
    pub breadth_first: f64,
    /// How many moves the nodes of a trace list; one of these is drawn for each.
    pub tops: Vec<Top>,
    /// Tokens of the longest trace.
    pub context: usize,
}

impl Default for TracePlan {
    fn default() -> Self {
        Self {
            per_root: 4,
            sizes: DEFAULT_SIZES.to_vec(),
            compact: 0.5,
            breadth_first: 0.0,
            tops: vec![Top::Best(5)],
            context: 8_192,
        }
    }
}

/// The shapes that fit into the context, for one game.
#[derive(Clone, Debug)]
pub struct TraceSizes {
    /// By form and number of listed moves.
    fitting: Vec<(bool, Top, Vec<Shape>)>,
}

impl TracePlan {
    /// The shapes of a game that fit.
    ///
    /// # Errors
    /// When none of the sizes fits in one of the forms, with the numbers.
    pub fn sizes_for(&self, rules: Rules) -> Result<TraceSizes, String> {
        let forms = [(false, self.compact < 1.0), (true, self.compact > 0.0)];
        let mut fitting = Vec::new();
        for (compact, _) in forms.into_iter().filter(|(_, wanted)| *wanted) {
            for &top in &self.tops {
                let shapes: Vec<Shape> = self
                    .sizes
                    .iter()
                    .map(|&(breadth, depth)| Shape {
                        rules,
                        breadth,
                        depth,
                        compact,
                        top,
                        order: self.longest_order(),
                    })
                    .collect();
                let fits: Vec<Shape> =
                    shapes.iter().filter(|shape| needed(shape) <= self.context).copied().collect();
                if fits.is_empty() {
                    return Err(self.too_small(&shapes));
                }
                fitting.push((compact, top, fits));
            }
        }
        Ok(TraceSizes { fitting })
    }

    /// Breadth first a trace has one token more.
    fn longest_order(&self) -> Order {
        if self.breadth_first > 0.0 { Order::BreadthFirst } else { Order::DepthFirst }
    }

    fn too_small(&self, shapes: &[Shape]) -> String {
        let Some(least) = shapes.iter().min_by_key(|shape| needed(shape)) else {
            return "no size to draw from".to_owned();
        };
        let Shape { rules, breadth, depth, compact, top, .. } = least;
        let form = if *compact { "compact " } else { "" };
        format!(
            "a context of {} tokens is too small: the smallest {form}trace of {rules}, breadth {breadth} and depth {depth} with %top_{}, takes {}",
            self.context,
            top_text(*top),
            needed(least)
        )
    }
}

impl TraceSizes {
    /// Shapes for one root, each of another size where so many fit.
    pub(super) fn draw(&self, plan: &TracePlan, rng: &mut impl Rng) -> Vec<Shape> {
        let mut drawn: Vec<Shape> = Vec::new();
        let mut taken: Vec<(u16, u16)> = Vec::new();
        for _ in 0..plan.per_root.min(MOST_DRAWS) {
            let compact = rng.random_bool(plan.compact.clamp(0.0, 1.0));
            let of_form: Vec<_> = self.fitting.iter().filter(|(form, ..)| *form == compact).collect();
            let Some((_, _, shapes)) = of_form.choose(rng) else { continue };
            let free: Vec<&Shape> =
                shapes.iter().filter(|shape| !taken.contains(&(shape.breadth, shape.depth))).collect();
            if let Some(&&shape) = free.choose(rng) {
                taken.push((shape.breadth, shape.depth));
                // A plan without it draws what it always drew.
                let levels = plan.breadth_first > 0.0 && rng.random_bool(plan.breadth_first.min(1.0));
                drawn.push(Shape {
                    order: if levels { Order::BreadthFirst } else { Order::DepthFirst },
                    ..shape
                });
            }
        }
        drawn
    }
}

/// The most tokens a trace can take, or where all moves are listed the least that a whole tree takes.
fn needed(shape: &Shape) -> usize {
    match shape.top {
        Top::Best(k) => shape.n_tokens(usize::from(k)),
        Top::All => shape.n_tokens(usize::from(shape.breadth)),
    }
}

/// As the header spells it.
pub(super) fn top_text(top: Top) -> String {
    match top {
        Top::All => "all".to_owned(),
        Top::Best(k) => k.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn a_root_has_no_more_traces_than_there_are_sizes_however_many_are_wanted() {
        let plan = TracePlan { per_root: usize::MAX, context: usize::MAX, ..TracePlan::default() };
        let sizes = plan.sizes_for(Rules::Connect4).expect("sizes");
        let drawn = sizes.draw(&plan, &mut Xoshiro256PlusPlus::seed_from_u64(1));
        assert_eq!(drawn.len(), DEFAULT_SIZES.len());
    }

    #[test]
    fn sizes_that_do_not_fit_are_left_out_and_a_context_without_any_is_refused() {
        let plan = TracePlan::default();
        let sizes = plan.sizes_for(Rules::Chess).expect("sizes");
        let fitting = |compact: bool| {
            let of_form = sizes.fitting.iter().filter(|(form, ..)| *form == compact);
            of_form
                .flat_map(|(.., shapes)| shapes)
                .map(|shape| (shape.breadth, shape.depth))
                .collect::<Vec<_>>()
        };
        assert!(fitting(true).contains(&(5, 2)) && !fitting(true).contains(&(4, 3)));
        let small = TracePlan { context: 100, ..plan };
        let refused = small.sizes_for(Rules::Chess).expect_err("too small");
        assert!(refused.contains("a context of 100 tokens is too small"), "{refused}");
        assert!(refused.contains("breadth 2 and depth 1 with %top_5, takes "), "{refused}");
    }

    #[test]
    fn a_root_gets_different_sizes() {
        let plan = TracePlan { per_root: 6, ..TracePlan::default() };
        let sizes = plan.sizes_for(Rules::Connect4).expect("sizes");
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for _ in 0..50 {
            let mut drawn: Vec<_> =
                sizes.draw(&plan, &mut random).iter().map(|shape| (shape.breadth, shape.depth)).collect();
            assert_eq!(drawn.len(), 6);
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn.len(), 6);
        }
    }
}
