//! Leaky ReLU, hyperbolic tangent, sigmoid: forward in place, backward from the output.

use super::scalar::sigmoid;
use crate::conv_net::ConvLayer;

/// Applies an activation in place; layers with parameters do nothing here.
pub(crate) fn forward(layer: ConvLayer, x: &mut [f32]) {
    match layer {
        ConvLayer::LeakyRelu { slope } => {
            x.iter_mut().for_each(|x| *x = if *x < 0.0 { slope * *x } else { *x });
        }
        ConvLayer::Tanh => x.iter_mut().for_each(|x| *x = 2.0 * sigmoid(2.0 * *x) - 1.0),
        ConvLayer::Sigmoid => x.iter_mut().for_each(|x| *x = sigmoid(*x)),
        ConvLayer::Conv3x3 { .. } | ConvLayer::Dense { .. } => {}
    }
}

/// Turns the gradient of the output `y` into that of the input, in place. A leaky ReLU keeps the sign, since its slope is not
/// negative, so its output shows the side too.
pub(crate) fn backward(layer: ConvLayer, d: &mut [f32], y: &[f32]) {
    match layer {
        ConvLayer::LeakyRelu { slope } => {
            d.iter_mut().zip(y).for_each(|(d, y)| *d *= if *y > 0.0 { 1.0 } else { slope });
        }
        ConvLayer::Tanh => d.iter_mut().zip(y).for_each(|(d, y)| *d *= 1.0 - y * y),
        ConvLayer::Sigmoid => d.iter_mut().zip(y).for_each(|(d, y)| *d *= y * (1.0 - y)),
        ConvLayer::Conv3x3 { .. } | ConvLayer::Dense { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Check, numbers, weighted};

    #[test]
    fn gradients() {
        let x: Vec<f32> = numbers(40, 1).iter().map(|x| 3.0 * x + 0.05 * x.signum()).collect();
        let dy = numbers(40, 2);
        for layer in [ConvLayer::LeakyRelu { slope: 0.1 }, ConvLayer::Tanh, ConvLayer::Sigmoid] {
            let run = |x: &[f32]| {
                let mut y = x.to_vec();
                forward(layer, &mut y);
                y
            };
            let mut dx = dy.clone();
            backward(layer, &mut dx, &run(&x));
            Check::default().gradient(&x, &dx, |x| weighted(&run(x), &dy));
        }
        let mut tanh = [0.5f32, -2.0];
        forward(ConvLayer::Tanh, &mut tanh);
        assert!((tanh[0] - 0.5f32.tanh()).abs() < 1e-6 && (tanh[1] + 2f32.tanh()).abs() < 1e-6);
    }
}
