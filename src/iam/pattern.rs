//! The patterns of policies, with `*` and `?`.

/// Whether an action matches a pattern; in actions, case does not count.
pub fn matches_action(pattern: &str, action: &str) -> bool {
    matches(&pattern.to_lowercase(), &action.to_lowercase())
}

/// Whether a text matches a pattern with `*` for any characters and `?` for any one, as IAM's policies have them.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where the last `*` stands, and up to where it has taken the text.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                p = at + 1;
                t = taken + 1;
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_iam() {
        for (pattern, text, same) in [
            ("a", "a", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c*", "abcd", true),
            ("a?c", "abc", true),
            ("a?", "a", false),
            ("*", "", true),
            ("a*b", "a", false),
            ("a*bc", "abbc", true),
        ] {
            assert_eq!(matches(pattern, text), same, "{pattern} {text}");
        }
    }
}
