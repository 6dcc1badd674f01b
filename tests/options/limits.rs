//! The limits of accounts and keys.

use serde_json::json;

use super::bench::Bench;

#[tokio::test]
async fn every_command_reports_a_key_that_denies_eventbridge() {
    let bench = Bench::new().await;
    let (open, shut) = (bench.key(true).await, bench.key(false).await);
    let gone = format!("{shut}x");
    for (key, says) in [
        (&open, None),
        (&shut, Some("the key policy does not allow EventBridge to call kms:Decrypt and kms:GenerateDataKey")),
        (&gone, Some("the key does not exist")),
    ] {
        let (document, code) = bench.json(&["bootstrap-hub", "--yes", "--kms-key", key], &[]);
        assert_eq!(code, Some(0), "{document}");
        let warnings = document["hubs"][0]["warnings"].to_string();
        assert_eq!(warnings.contains("K226"), says.is_some(), "{warnings}");
        assert!(warnings.contains(says.unwrap_or_default()), "{warnings}");
        let (document, code) = bench.json(&["verify"], &[]);
        let problems = &document["hubs"][0]["problems"];
        match says {
            None => assert_eq!((problems, code), (&json!([]), Some(0))),
            Some(says) => {
                assert_eq!((problems[0]["code"].as_str(), code), (Some("K226"), Some(2)), "{problems}");
                let message = problems[0]["message"].as_str().unwrap();
                let late = "; SQS caches a data key for five minutes, and sends may succeed with it until then, so \
                     check again later";
                assert_eq!(message, format!("{says}{late}"), "S29");
            }
        }
    }
    let elsewhere = open.replace(&bench.0.account.id, "999999999999");
    let (document, _) = bench.json(&["bootstrap-hub", "--dry-run", "--kms-key", &elsewhere], &[]);
    let warnings = document["hubs"][0]["warnings"].to_string();
    assert!(warnings.contains("it belongs to another account") && !warnings.contains("K226"), "{warnings}");
}

#[tokio::test]
async fn limits_of_the_account_are_checked_before_the_first_change() {
    let bench = Bench::new().await;
    let elsewhere = format!("arn:aws:kms:eu-west-1:{}:key/a", bench.0.account.id);
    for (arguments, says) in
        [(["--reserved-concurrency", "100000"], "the maximum is"), (["--kms-key", &elsewhere], "is not in us-west-2")]
    {
        let arguments: Vec<&str> = ["bootstrap-hub", "--yes"].into_iter().chain(arguments).collect();
        let (document, code) = bench.json(&arguments, &[]);
        assert_eq!(code, Some(4), "{arguments:?}: {document}");
        assert!(document.to_string().contains(says), "{arguments:?}: {document}");
        assert_eq!(bench.resources().await, [], "{arguments:?}");
    }
}
