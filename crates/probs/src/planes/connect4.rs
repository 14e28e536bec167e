//! Connect Four: own stones and the opponent's, row 0 at the bottom; an action is a column.

use super::Planes;
use mavis_game::{Connect4, Move};

const HEIGHT: usize = 6;
const WIDTH: usize = 7;

impl Planes for Connect4 {
    fn shape(&self) -> [usize; 3] {
        [HEIGHT, WIDTH, 2]
    }

    fn n_actions(&self) -> usize {
        WIDTH
    }

    fn write(&self, planes: &mut [f32]) {
        let own = self.own();
        for (channel, mut stones) in [own, self.occupied() & !own].into_iter().enumerate() {
            while stones != 0 {
                // A column takes seven bits, of which six are cells.
                let bit = stones.trailing_zeros() as usize;
                planes[(bit % 7 * WIDTH + bit / 7) * 2 + channel] = 1.0;
                stones &= stones - 1;
            }
        }
    }

    fn action(&self, mv: Move) -> usize {
        usize::from(mv.0)
    }
}
