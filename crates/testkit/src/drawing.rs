//! What a reader of an SVG drawing would complain about: labels that are cut, or that cover each other or what is drawn.
//!
//! Only what the drawings of this workspace are made of is understood, and the width of a text is an estimate by the letters of
//! a wide font (DejaVu Sans), since the font is the reader's.

/// A rectangle in the units of the drawing.
#[derive(Clone, Copy, Debug)]
struct Place {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Place {
    fn holds(&self, (x, y): (f64, f64)) -> bool {
        self.left < x && x < self.right && self.top < y && y < self.bottom
    }

    fn meets(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn is_inside(&self, other: &Self) -> bool {
        other.left <= self.left
            && self.right <= other.right
            && other.top <= self.top
            && self.bottom <= other.bottom
    }
}

/// Checks that every label of a drawing lies in its view, and covers no other label and nothing that is drawn of the data: dots,
/// lines of at least two units, bars. Gives the number of labels.
///
/// # Panics
/// When one does not, or when the drawing has no view.
pub fn check_drawing(svg: &str) -> usize {
    let elements: Vec<Element<'_>> = elements(svg).collect();
    let view = elements.iter().find(|element| element.name == "svg").and_then(Element::view);
    let view = view.expect("a drawing has a view box");
    let labels: Vec<(&str, Place)> =
        elements.iter().filter(|element| element.name == "text").map(Element::label).collect();
    for (idx, (text, place)) in labels.iter().enumerate() {
        assert!(place.is_inside(&view), "'{text}' is cut: {place:?} in {view:?}");
        for (other, covered) in &labels[..idx] {
            assert!(!place.meets(covered), "'{text}' covers '{other}': {place:?}, {covered:?}");
        }
    }
    for element in &elements {
        for (text, place) in &labels {
            assert!(!element.is_covered_by(place, &view), "'{text}' covers <{}>: {place:?}", element.inside);
        }
    }
    labels.len()
}

/// One element with its attributes.
struct Element<'a> {
    name: &'a str,
    /// All between the brackets.
    inside: &'a str,
    /// What follows it up to the next one.
    content: &'a str,
}

fn elements(svg: &str) -> impl Iterator<Item = Element<'_>> {
    svg.split('<').skip(1).filter_map(|part| {
        let (inside, content) = part.split_once('>')?;
        let name = inside.split([' ', '/']).next()?;
        Some(Element { name, inside, content: content.trim() })
    })
}

impl<'a> Element<'a> {
    fn attribute(&self, name: &str) -> Option<&'a str> {
        let (_, rest) = self.inside.split_once(&format!(" {name}=\""))?;
        Some(rest.split_once('"')?.0)
    }

    fn number(&self, name: &str) -> f64 {
        let text = self.attribute(name).unwrap_or_else(|| panic!("no {name} in <{}>", self.inside));
        text.parse().unwrap_or_else(|_| panic!("{name}=\"{text}\" is no number"))
    }

    fn view(&self) -> Option<Place> {
        let numbers: Vec<f64> =
            self.attribute("viewBox")?.split(' ').filter_map(|part| part.parse().ok()).collect();
        let [left, top, width, height] = numbers[..] else { return None };
        Some(Place { left, top, right: left + width, bottom: top + height })
    }

    /// The text of a label and its place.
    fn label(&self) -> (&'a str, Place) {
        let (x, y, size) = (self.number("x"), self.number("y"), self.number("font-size"));
        let plain = self.content.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        let width = size * plain.chars().map(advance).sum::<f64>();
        let left = match self.attribute("text-anchor") {
            Some("middle") => -0.5 * width,
            Some("end") => -width,
            _ => 0.0,
        };
        // Letters without those that reach below the line; the line is the top, the middle or the bottom of the text.
        let top = match self.attribute("dy") {
            Some("0.76em") => 0.0,
            Some("0.5ex") => -0.5 * size,
            _ => -0.76 * size,
        };
        let place = match self.attribute("transform") {
            None => {
                Place { left: x + left, top: y + top, right: x + left + width, bottom: y + top + 0.76 * size }
            }
            // Upwards, as the names of vertical axes are written.
            Some(_) => {
                Place { left: x + top, top: y - left - width, right: x + top + 0.76 * size, bottom: y - left }
            }
        };
        (self.content, place)
    }

    /// Whether a label lies on what this element shows of the data.
    fn is_covered_by(&self, label: &Place, view: &Place) -> bool {
        match self.name {
            "circle" => label.holds((self.number("cx"), self.number("cy"))),
            "polyline" if self.number("stroke-width") >= 2.0 => {
                let points = self.points();
                points.windows(2).any(|ends| on_the_way(ends[0], ends[1]).any(|point| label.holds(point)))
            }
            "rect" => {
                let (left, top) = (self.number("x"), self.number("y"));
                let bar = Place {
                    left,
                    top,
                    right: left + self.number("width"),
                    bottom: top + self.number("height"),
                };
                // One as large as the view is the ground.
                !view.is_inside(&bar) && bar.meets(label)
            }
            _ => false,
        }
    }

    /// The corners of a line.
    fn points(&self) -> Vec<(f64, f64)> {
        let pairs = self.attribute("points").unwrap_or_default().split_whitespace();
        pairs
            .filter_map(|pair| {
                let (x, y) = pair.split_once(',')?;
                Some((x.parse().ok()?, y.parse().ok()?))
            })
            .collect()
    }
}

/// Points of a line, no farther apart than a unit.
fn on_the_way(from: (f64, f64), to: (f64, f64)) -> impl Iterator<Item = (f64, f64)> {
    let (x, y) = (to.0 - from.0, to.1 - from.1);
    let n = x.abs().max(y.abs()).ceil().max(1.0) as u32;
    (0..=n).map(move |k| f64::from(k) / f64::from(n)).map(move |part| (from.0 + part * x, from.1 + part * y))
}

/// The width of a letter in parts of the font size.
fn advance(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' => 0.28,
        ' ' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' | '/' | '-' => 0.35,
        'f' | 't' | 'r' | 'I' | '(' | ')' => 0.4,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' => 0.95,
        'A'..='Z' => 0.72,
        _ => 0.63,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawing(inside: &str) -> String {
        format!("<svg viewBox=\"0 0 200 100\" xmlns=\"x\">\n{inside}\n</svg>")
    }

    fn label(x: u32, y: u32, text: &str) -> String {
        format!(
            "<text x=\"{x}\" y=\"{y}\" dy=\"0.76em\" text-anchor=\"start\" font-size=\"10\">\n{text}\n</text>"
        )
    }

    /// Whether a drawing passes.
    fn passes(inside: &str) -> bool {
        let svg = drawing(inside);
        std::panic::catch_unwind(|| check_drawing(&svg)).is_ok()
    }

    #[test]
    fn labels_are_cut_cover_each_other_and_cover_data() {
        let one = label(10, 10, "a &lt;name&gt;");
        assert_eq!(check_drawing(&drawing(&one)), 1);
        assert!(!passes(&label(170, 10, "a longer name")), "right edge");
        assert!(!passes(&label(10, 95, "low")), "lower edge");
        assert!(!passes(&format!("{one}{}", label(20, 12, "b"))), "another label");
        assert!(passes(&format!("{one}{}", label(20, 30, "b"))));
        assert!(!passes(&format!("{one}<circle cx=\"20\" cy=\"13\" r=\"3\"/>")), "a dot");
        assert!(!passes(&format!("{one}<polyline stroke-width=\"2\" points=\"0,13 200,13 \"/>")), "a line");
        assert!(passes(&format!("{one}<polyline stroke-width=\"1\" points=\"0,13 200,13 \"/>")), "the grid");
        assert!(!passes(&format!("{one}<rect x=\"0\" y=\"0\" width=\"50\" height=\"50\"/>")), "a bar");
        assert!(passes(&format!("<rect x=\"0\" y=\"0\" width=\"200\" height=\"100\"/>{one}")), "the ground");
        let upwards = "<text x=\"5\" y=\"50\" dy=\"0.76em\" text-anchor=\"middle\" font-size=\"10\" transform=\"rotate(270, 5, 50)\">";
        assert!(passes(&format!("{upwards}\nnames of axes\n</text>")));
        assert!(!passes(&format!("{upwards}\na name of an axis that is too long\n</text>")));
    }
}
