//! Targets, and whether they are met.

/// A bound for a value.
pub enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// Prints a table of targets: what is measured, its bound, and the value, if there is one. Returns whether all are met.
pub fn print<'a>(rows: impl IntoIterator<Item = (&'a str, Bound, Option<f64>)>) -> bool {
    println!("\n| target | | measured | |\n| --- | --- | --- | --- |");
    let mut all = true;
    for (what, bound, value) in rows {
        let Some(value) = value else { continue };
        let (met, bound, words) = match bound {
            Bound::AtLeast(bound) => (value >= bound, bound, "at least"),
            Bound::AtMost(bound) => (value <= bound, bound, "at most"),
        };
        all &= met;
        println!("| {what}, {words} | {bound} | {value:.2} | {} |", if met { "met" } else { "missed" });
    }
    all
}
