//! The endpoints of services.

use aws_types::SdkConfig;
use aws_types::service_config::ServiceConfigKey;

use super::{FipsHost, Service};
use crate::model::scope::dns_suffix;

/// The custom endpoint of a service, with the precedence of the SDK: the program's own setting, then
/// `AWS_ENDPOINT_URL_<SERVICE>`, then `AWS_ENDPOINT_URL`, each from the environment or the profile. `service` is its id in
/// the SDK, like `EC2` or `SQS`.
pub fn custom_endpoint(config: &SdkConfig, service: &str) -> Option<String> {
    let general = config.endpoint_url().map(str::to_owned);
    if config.get_origin("endpoint_url").is_client_config() {
        return general;
    }
    let key = ServiceConfigKey::builder()
        .service_id(service)
        .env("AWS_ENDPOINT_URL")
        .profile("endpoint_url")
        .build()
        .ok()?;
    config
        .service_config()
        .and_then(|settings| settings.load_config(key))
        .or(general)
}

/// The endpoint of a service for this configuration, by the endpoint rules of EC2, KMS and EKS (botocore,
/// endpoint-rule-set-1.json).
pub(crate) fn endpoint(config: &SdkConfig, service: Service) -> String {
    if let Some(custom) = custom_endpoint(config, service.id) {
        return custom;
    }
    let region = config.region().map_or("us-east-1", |region| region.as_ref());
    let (partition, dual_stack_suffix) = partition_of(region);
    let dual_stack = config.use_dual_stack() == Some(true);
    let (regular_is_fips, suffix) = if dual_stack {
        (false, dual_stack_suffix)
    } else {
        let suffix = partition.parse().as_ref().map_or("amazonaws.com", dns_suffix);
        (service.gov_is_fips && partition == "aws-us-gov", suffix)
    };
    let name = service.name;
    let host = match config.use_fips() == Some(true) && !regular_is_fips {
        false => name.to_owned(),
        true if service.fips == FipsHost::Prefix && partition == "aws" && !dual_stack => format!("fips.{name}"),
        true => format!("{name}-fips"),
    };
    format!("https://{host}.{region}.{suffix}")
}

/// The partition of a Region, by the prefix of its name, and the domain of its dual-stack endpoints (AWS SDK
/// partitions.json).
fn partition_of(region: &str) -> (&'static str, &'static str) {
    const PREFIXES: [(&str, &str, &str); 7] = [
        ("cn-", "aws-cn", "api.amazonwebservices.com.cn"),
        ("us-gov-", "aws-us-gov", "api.aws"),
        ("us-iso-", "aws-iso", "api.aws.ic.gov"),
        ("us-isob-", "aws-iso-b", "api.aws.scloud"),
        ("eu-isoe-", "aws-iso-e", "api.cloud-aws.adc-e.uk"),
        ("us-isof-", "aws-iso-f", "api.aws.hci.ic.gov"),
        ("eusc-", "aws-eusc", "api.amazonwebservices.eu"),
    ];
    PREFIXES
        .iter()
        .find(|(prefix, ..)| region.starts_with(prefix))
        .map_or(("aws", "api.aws"), |(_, partition, domain)| (partition, domain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_types::region::Region;

    const EC2: Service = Service {
        id: "EC2",
        name: "ec2",
        fips: FipsHost::Suffix,
        gov_is_fips: true,
    };

    #[test]
    fn endpoints_follow_the_region() {
        for (region, fips, expected) in [
            ("us-west-2", false, "https://ec2.us-west-2.amazonaws.com"),
            ("us-west-2", true, "https://ec2-fips.us-west-2.amazonaws.com"),
            ("us-gov-west-1", true, "https://ec2.us-gov-west-1.amazonaws.com"),
            ("us-gov-east-1", false, "https://ec2.us-gov-east-1.amazonaws.com"),
            ("cn-north-1", false, "https://ec2.cn-north-1.amazonaws.com.cn"),
            ("cn-northwest-1", false, "https://ec2.cn-northwest-1.amazonaws.com.cn"),
            ("us-iso-east-1", false, "https://ec2.us-iso-east-1.c2s.ic.gov"),
            ("us-isob-east-1", false, "https://ec2.us-isob-east-1.sc2s.sgov.gov"),
            ("eusc-de-east-1", false, "https://ec2.eusc-de-east-1.amazonaws.eu"),
        ] {
            let config = SdkConfig::builder().region(Region::new(region)).use_fips(fips).build();
            assert_eq!(endpoint(&config, EC2), expected);
        }
    }

    #[test]
    fn endpoints_have_two_stacks_where_it_is_set() {
        const KMS: Service = Service {
            id: "KMS",
            name: "kms",
            fips: FipsHost::Suffix,
            gov_is_fips: false,
        };
        for (service, region, fips, expected) in [
            (KMS, "us-west-2", false, "https://kms.us-west-2.api.aws"),
            (KMS, "us-west-2", true, "https://kms-fips.us-west-2.api.aws"),
            (KMS, "us-gov-west-1", true, "https://kms-fips.us-gov-west-1.api.aws"),
            (
                KMS,
                "cn-north-1",
                false,
                "https://kms.cn-north-1.api.amazonwebservices.com.cn",
            ),
            (
                KMS,
                "eusc-de-east-1",
                false,
                "https://kms.eusc-de-east-1.api.amazonwebservices.eu",
            ),
            (
                KMS,
                "us-isob-east-1",
                false,
                "https://kms.us-isob-east-1.api.aws.scloud",
            ),
            (EC2, "us-west-2", false, "https://ec2.us-west-2.api.aws"),
            (EC2, "us-gov-west-1", true, "https://ec2-fips.us-gov-west-1.api.aws"),
        ] {
            let config = SdkConfig::builder().region(Region::new(region));
            let config = config.use_fips(fips).use_dual_stack(true).build();
            assert_eq!(endpoint(&config, service), expected);
        }
    }

    #[test]
    fn a_custom_endpoint_wins() {
        let config = SdkConfig::builder().endpoint_url("http://127.0.0.1:4566").build();
        assert_eq!(endpoint(&config, EC2), "http://127.0.0.1:4566");
    }
}
