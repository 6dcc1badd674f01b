//! Whether an account can reserve concurrency for the router.

use super::Refusal;

/// The concurrency that Lambda keeps for functions without a reservation (Lambda developer guide, "Configuring reserved
/// concurrency").
const UNRESERVED: u32 = 100;

/// Refuses a reservation that the account has no room for. `live` is the current reservation of the function, and
/// `unreserved` the concurrency of the account that no function has reserved.
///
/// # Errors
/// When too little unreserved concurrency would be left.
pub fn check_concurrency(wanted: Option<u32>, live: Option<u32>, unreserved: u32) -> Result<(), Refusal> {
    let live = live.unwrap_or(0);
    let most = (unreserved + live).saturating_sub(UNRESERVED);
    match wanted {
        Some(wanted) if wanted > live && wanted > most => Err(Refusal::TooMuchReserved { wanted, most }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_stay_for_all_other_functions() {
        for (wanted, live, unreserved, most) in [
            (None, None, 0, None),
            (Some(10), None, 1000, None),
            (Some(900), None, 1000, None),
            (Some(901), None, 1000, Some(900)),
            (Some(910), Some(10), 990, Some(900)),
            (Some(5), None, 10, Some(0)),
            // Less than before always fits, whatever others have taken meanwhile.
            (Some(5), Some(10), 0, None),
            (Some(10), Some(10), 50, None),
        ] {
            let expected = most.map_or(Ok(()), |most| {
                Err(Refusal::TooMuchReserved {
                    wanted: wanted.unwrap_or(0),
                    most,
                })
            });
            assert_eq!(
                check_concurrency(wanted, live, unreserved),
                expected,
                "{wanted:?} {live:?} {unreserved}"
            );
        }
    }
}
