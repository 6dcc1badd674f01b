//! Many roles with their inline policies: one page of IAM's report about the account has hundreds, and IAM counts the calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use aws_sdk_iam::types::{EntityType, RoleDetail};

use super::document::decoded;
use super::{AwsCloud, pages};
use crate::cloud::{Fault, FaultKind};
use crate::model::name::RoleName;
use crate::model::policy::InlinePolicy;
use crate::model::resource::calls::iam;

/// How many roles a page has. With the longest trust policy and inline policies, percent-encoded, each has 60 kB, so an
/// answer has at most 18 MB.
const PAGE: i32 = 300;

/// Why the caller may not read the report. It is asked for once: most operators may not.
#[derive(Clone, Debug, Default)]
pub(super) struct Denied(Arc<OnceLock<Fault>>);

/// Those of these roles that exist.
pub(super) async fn read(
    cloud: &AwsCloud,
    roles: &BTreeSet<RoleName>,
) -> Result<BTreeMap<RoleName, Vec<InlinePolicy>>, Fault> {
    if let Some(fault) = cloud.roles_denied.0.get() {
        return Err(fault.clone());
    }
    let call = cloud.iam.get_account_authorization_details();
    let call = call.filter(EntityType::Role).max_items(PAGE);
    let page = |marker| {
        let call = call.clone().set_marker(marker);
        async {
            let page = call.send().await;
            // The roles of others are not kept: an account can have thousands.
            page.map(|page| {
                let all = page.role_detail_list.unwrap_or_default().into_iter();
                (Some(all.filter_map(|role| details(role, roles)).collect()), page.marker)
            })
        }
    };
    let details = pages::all(cloud, iam::GET_ACCOUNT_AUTHORIZATION_DETAILS, page).await;
    let details = details.inspect_err(|fault| {
        if let FaultKind::Denied { .. } = fault.kind {
            cloud.roles_denied.0.get_or_init(|| fault.clone());
        }
    })?;
    Ok(details.into_iter().collect())
}

fn details(role: RoleDetail, wanted: &BTreeSet<RoleName>) -> Option<(RoleName, Vec<InlinePolicy>)> {
    let name: RoleName = role.role_name?.parse().ok()?;
    if !wanted.contains(&name) {
        return None;
    }
    let inline = role.role_policy_list.unwrap_or_default().into_iter();
    let inline = inline.filter_map(|policy| {
        Some(InlinePolicy {
            name: policy.policy_name?,
            text: decoded(&policy.policy_document?),
        })
    });
    Some((name, inline.collect()))
}
