//! Durations as a person writes and reads them: `90s`, `5m`, `2h`, `1d`.

/// The units, the longest first, and their seconds.
const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];

/// The seconds of a duration with a unit, such as `90s` or `1d`.
pub fn parse_duration(text: &str) -> Option<u64> {
    UNITS.iter().find_map(|(unit, seconds)| {
        let number = text.strip_suffix(unit)?;
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        number.parse::<u64>().ok().filter(|_| digits)?.checked_mul(*seconds)
    })
}

/// Seconds in the longest unit that divides them.
pub fn duration_text(seconds: u64) -> String {
    let divides = |(_, unit): &&(&str, u64)| seconds > 0 && seconds.is_multiple_of(*unit);
    match UNITS.iter().find(divides) {
        Some((unit, length)) => format!("{}{unit}", seconds / length),
        None => "0s".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_they_are_written() {
        for (text, seconds) in [
            ("0s", 0),
            ("90s", 90),
            ("5m", 300),
            ("2h", 7_200),
            ("1d", 86_400),
            ("14d", 1_209_600),
            ("86401s", 86_401),
        ] {
            assert_eq!(parse_duration(text), Some(seconds), "{text}");
            assert_eq!(duration_text(seconds), text);
        }
        assert_eq!(parse_duration("24h"), Some(86_400));
        for text in [
            "",
            "s",
            "90",
            "-1s",
            "+1s",
            "1.5h",
            "1 d",
            "1d2h",
            "1w",
            "1D",
            "99999999999999999999d",
        ] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
        assert_eq!(parse_duration("18446744073709551615d"), None);
    }
}
