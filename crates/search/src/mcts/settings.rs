//! Every option of the search, one row each.

use super::{Schedule, virtual_count::VirtualRule};
use crate::tunable::{choice, tunables};
use mavis_eval::WorldModel;
use mavis_value::Scoring;
use std::time::Duration;

choice! {
    /// How virtual counts are spread over the path of a simulation in flight.
    pub enum VirtualCounts {
        /// Most at the leaf, halved at each step up (paper 001).
        Dynamic = "dynamic",
        /// The same everywhere.
        Fixed = "fixed",
        /// One visit each, worth what the evaluator said of the last move when it listed it, until the answer is there.
        Estimate = "estimate",
    }
}

choice! {
    /// What a virtual count does to the mean value of its move.
    pub enum VirtualValue {
        /// Nothing: it counts in the exploration term alone.
        None = "none",
        /// It is a visit worth a draw: V / (N + n_c) with the tree's values of -1 to 1.
        Draw = "draw",
        /// It is a lost visit: V / (N + n_c) with win probabilities, as paper 001 has them in V.
        Loss = "loss",
    }
}

choice! {
    /// What a simulation does that would reach a leaf whose evaluation is under way.
    pub enum Collision {
        /// It takes the next best way.
        Elsewhere = "elsewhere",
        /// It waits for the evaluations under way, so that a batch may stay smaller.
        Wait = "wait",
    }
}

choice! {
    /// What a move without visits is worth.
    pub enum Unvisited {
        /// A draw.
        Zero = "zero",
        /// What the evaluator said of it.
        Model = "model",
    }
}

choice! {
    /// In which order answers enter the tree.
    pub enum Order {
        /// In the order they were asked for, a whole batch at a time: the same seed gives the same tree.
        Launch = "launch",
        /// As they arrive, with `batch` evaluations always under way (paper 001).
        Arrival = "arrival",
    }
}

choice! {
    /// How the move to play is chosen from the root.
    pub enum FinalMove {
        /// Most visits, ties by value (algorithm 8).
        Visits = "visits",
        /// Best mean value among visited moves.
        Value = "value",
        /// At random, in proportion to visits^(1/temperature).
        Sample = "sample",
    }
}

tunables! {
    /// Settings of the MCTS of paper 001.
    pub struct MctsSettings {
        simulations "sims": u32 = 100, Integer(1, 4_000_000_000), "Simulations of one search, those that fail and those kept from earlier moves included.";
        nodes "nodes": u32 = 0, Integer(0, 4_000_000_000), "Most nodes of the tree, kept ones included; 0 means no limit.";
        time "time": Option<Duration> = None, Milliseconds(0, 86_400_000), "Most milliseconds of one search; 0 means no limit.";
        tau "tau": Schedule = Schedule::constant(1.0), Text("a number above 0, or steps by ply such as 0:1/30:0.5"), "Temperature of the softmax over win probabilities in the prior, by ply.";
        top_k "k": u16 = 5, Integer(1, 1000), "Moves that share the greedy part of the prior.";
        epsilon "epsilon": f32 = 0.1, Real(0.0, 1.0), "Part of the prior that is spread evenly over all moves.";
        c_puct "c_puct": f32 = 2.0, Real(0.0, 1000.0), "Weight of the prior against the value in PUCT.";
        batch "batch": u16 = 16, Integer(1, 4096), "Evaluations in flight at once.";
        groups "groups": u16 = 0, Integer(0, 64), "Groups that a batch is divided into: while one is evaluated, the next is selected. 0 means as many as the evaluator works on at a time: 2 for a model on a GPU, else 1.";
        timeout "timeout": Option<Duration> = None, Milliseconds(0, 86_400_000), "Timeout of an evaluation in milliseconds; 0 means none.";
        virtual_counts "virtual": VirtualCounts = VirtualCounts::Estimate, Choice(VirtualCounts::WORDS), "Virtual counts of simulations in flight.";
        n_min "n_min": u32 = 2, Integer(0, 10_000), "Least dynamic virtual count on a path.";
        n_max "n_max": u32 = 0, Integer(0, 10_000), "Dynamic virtual count at the leaf; 0 chooses by the simulations as in paper 001.";
        n_fixed "n_fixed": u32 = 2, Integer(0, 10_000), "The fixed virtual count.";
        virtual_value "virtual_value": VirtualValue = VirtualValue::None, Choice(VirtualValue::WORDS), "What a virtual count does to the mean value of its move.";
        collision "collision": Collision = Collision::Wait, Choice(Collision::WORDS), "What a simulation does when it reaches a leaf that is being evaluated.";
        unvisited "unvisited": Unvisited = Unvisited::Zero, Choice(Unvisited::WORDS), "What a move without visits is worth in PUCT: a draw, or the evaluator's value of it.";
        scoring "scoring": Scoring = Scoring::Mean, Choice(Scoring::WORDS), "How a distribution over values becomes one number.";
        final_move "final": FinalMove = FinalMove::Visits, Choice(FinalMove::WORDS), "How the move to play is chosen.";
        final_temperature "final_temperature": f32 = 1.0, Real(0.01, 100.0), "Temperature of the sampled final move.";
        reuse "reuse": bool = true, Switch, "Keep the part of the tree below the moves played.";
        solver "solver": bool = true, Switch, "Prove wins, losses and draws from finished games upward and use them.";
        noise "noise": f32 = 0.0, Real(0.0, 1.0), "Part of the root prior that is Dirichlet noise.";
        noise_alpha "noise_alpha": f32 = 0.3, Real(0.001, 100.0), "Concentration of the root noise.";
        seed "seed": u64 = 0, Integer(0, u64::MAX), "Seed of ties, noise and sampling.";
        world "world": WorldModel = WorldModel::Rules, Choice(WorldModel::WORDS), "Where states, legal moves and ends come from.";
        order "order": Order = Order::Launch, Choice(Order::WORDS), "The order in which answers enter the tree: in the order of requests (repeatable) or as they arrive.";
        memory "memory": u32 = 1024, Integer(1, 1_000_000), "Most mebibytes of the tree.";
    }
}

impl MctsSettings {
    /// The rule of virtual counts that these settings name.
    #[must_use]
    pub fn virtual_rule(&self) -> VirtualRule {
        match self.virtual_counts {
            VirtualCounts::Fixed => VirtualRule::Fixed(self.n_fixed),
            VirtualCounts::Estimate => VirtualRule::Estimate,
            VirtualCounts::Dynamic => {
                VirtualRule::Dynamic { n_min: self.n_min, n_max: self.leaf_virtual_count() }
            }
        }
    }

    /// What selection sees of a move before its first visit; `value` is the evaluator's, -1 to 1.
    pub(crate) fn first_score(&self, value: f32) -> f32 {
        match self.unvisited {
            Unvisited::Zero => 0.0,
            Unvisited::Model => value,
        }
    }

    /// `n_max`, or what paper 001 found best for so many simulations.
    fn leaf_virtual_count(&self) -> u32 {
        match (self.n_max, self.simulations) {
            (0, ..1000) => 8,
            (0, 1000..2000) => 16,
            (0, 2000..) => 32,
            (n_max, _) => n_max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunable::TunableError;

    #[test]
    fn a_spec_sets_rows_and_comes_back() {
        let spec = "sims=500,tau=0:1/30:0.5,batch=32,timeout=250,scoring=max,reuse=false";
        let settings: MctsSettings = spec.parse().unwrap();
        assert_eq!((settings.simulations, settings.batch), (500, 32));
        assert_eq!(settings.timeout, Some(Duration::from_millis(250)));
        assert_eq!(settings.to_string(), spec);
        assert_eq!("".parse::<MctsSettings>().unwrap(), MctsSettings::default());
    }

    #[test]
    fn every_row_reads_its_own_default_and_value() {
        let mut settings = MctsSettings::default();
        for tunable in MctsSettings::tunables() {
            settings.set(tunable.name, &tunable.default).unwrap();
            assert_eq!(settings.value(tunable.name), Some(tunable.default.clone()), "{}", tunable.name);
        }
        assert_eq!(settings, MctsSettings::default());
    }

    #[test]
    fn mistakes_are_named() {
        let typo = "simz=5".parse::<MctsSettings>().unwrap_err();
        assert_eq!(typo.to_string(), "unknown setting 'simz' (did you mean 'sims'?)");
        let range = "epsilon=2".parse::<MctsSettings>().unwrap_err();
        assert_eq!(range.to_string(), "setting 'epsilon' cannot be '2' (expected a number from 0 to 1)");
        assert!(matches!(
            "zzzzzz=1".parse::<MctsSettings>(),
            Err(TunableError::Unknown { nearest: None, .. })
        ));
    }

    #[test]
    fn leaf_counts_follow_the_paper() {
        for (simulations, n_max) in [(100, 8), (250, 8), (500, 8), (1000, 16), (2000, 32)] {
            let virtual_counts = VirtualCounts::Dynamic;
            let settings = MctsSettings { simulations, virtual_counts, ..Default::default() };
            assert_eq!(settings.virtual_rule(), VirtualRule::Dynamic { n_min: 2, n_max });
        }
    }

    #[test]
    fn the_manual_explains_every_row_with_its_default() {
        let manual = include_str!("../../../../docs/search.md");
        for tunable in MctsSettings::tunables() {
            let row = format!("| `{}` | {} |", tunable.name, tunable.default);
            assert!(manual.contains(&row), "no row {row}");
        }
    }

    #[test]
    fn uci_names_are_capitalized() {
        let names: Vec<String> = MctsSettings::tunables().iter().map(|tunable| tunable.uci_name()).collect();
        assert!(names.contains(&"CPuct".to_owned()) && names.contains(&"NoiseAlpha".to_owned()));
    }
}
