//! The choice of the instance that a drill interrupts.

use serde::Serialize;

use crate::model::{
    ClusterName, Instance, InstanceId,
    instance::{JOINED, is_of_karpenter, joined, node_pool},
    parse_time, time_text,
};

/// The instance of a drill, with the details that the user sees before the interruption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "DrillInstanceObject"))]
pub struct DrillInstance {
    #[cfg_attr(test, schemars(with = "String"))]
    pub id: InstanceId,
    /// Its private DNS name.
    pub host: String,
    #[serde(rename = "type")]
    pub instance_type: String,
    pub zone: String,
    pub node_pool: String,
    /// How many instances of the node pool are running, including this one.
    pub nodes: usize,
    /// When it was launched, in UTC; empty if EC2 does not report it.
    pub launched: String,
}

/// The named instance, or the newest running Spot instance that Karpenter launched for the cluster and that is not the only one of its
/// node pool. Only instances that have joined the cluster count: other users can set every other tag. Otherwise, returns the reason.
pub fn choose(all: &[Instance], of: &ClusterName, named: Option<&InstanceId>) -> Result<DrillInstance, String> {
    let is_of_cluster = |one: &&Instance| is_of_karpenter(&one.tags) && joined(&one.tags).as_ref() == Some(of);
    let running: Vec<&Instance> = all.iter().filter(is_of_cluster).filter(|one| one.state == RUNNING).collect();
    let nodes = |of: &Instance| {
        let pool = node_pool(&of.tags);
        running.iter().filter(|one| node_pool(&one.tags) == pool).count()
    };
    let chosen = match named {
        Some(id) => {
            let found = all.iter().find(|one| one.id == *id);
            let found = found.ok_or_else(|| format!("instance `{id}` does not exist in this account and Region"))?;
            unfit(found, of).map_or(Ok(found), Err)?
        }
        None => {
            let spot = || running.iter().copied().filter(|one| one.is_spot);
            let newest = spot().filter(|one| nodes(one) > 1).max_by_key(|one| (&one.launched, &one.id));
            newest.ok_or_else(|| match spot().next() {
                None => format!("cluster `{of}` has no running Spot instance launched by Karpenter (tag `{JOINED}`)"),
                Some(_) => format!("each Spot instance of cluster `{of}` is the only node in its node pool"),
            })?
        }
    };
    Ok(DrillInstance {
        id: chosen.id.clone(),
        host: chosen.host.clone(),
        instance_type: chosen.instance_type.clone(),
        zone: chosen.zone.clone(),
        node_pool: node_pool(&chosen.tags),
        nodes: nodes(chosen),
        launched: parse_time(&chosen.launched).map_or_else(String::new, time_text),
    })
}

pub(super) const RUNNING: &str = "running";

/// Why a drill of the cluster cannot use a named instance.
fn unfit(one: &Instance, of: &ClusterName) -> Option<String> {
    let id = &one.id;
    match joined(&one.tags) {
        _ if !is_of_karpenter(&one.tags) => Some(format!("instance `{id}` was not launched by Karpenter")),
        None => Some(format!("instance `{id}` has not joined a cluster: EKS has not set its tag `{JOINED}`")),
        Some(other) if other != *of => Some(format!("instance `{id}` belongs to cluster `{other}`, not to `{of}`")),
        Some(_) if one.state != RUNNING => Some(format!("instance `{id}` is {}, not running", one.state)),
        Some(_) if !one.is_spot => {
            Some(format!("instance `{id}` is an On-Demand instance, which cannot be interrupted"))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Tags;

    /// `id pool launched words...`: a running Spot instance of cluster `base`, unless the words say otherwise.
    fn instance(row: &str) -> Instance {
        let words: Vec<&str> = row.split(' ').collect();
        let is = |word: &str| words.contains(&word);
        let of = if is("of-other") { "other" } else { "base" };
        let tags = Tags::default().with("eks:eks-cluster-name", of);
        let tags = if is("tagged") { tags } else { tags.with(JOINED, of) };
        Instance {
            id: words[0].parse().unwrap(),
            host: format!("ip-{}", words[0]),
            instance_type: "m5.large".to_owned(),
            zone: "us-west-2a".to_owned(),
            state: if is("stopping") { "stopping" } else { RUNNING }.to_owned(),
            is_spot: !is("on-demand"),
            launched: format!("2026-11-24T03:00:{}Z", words[2]),
            tags: if is("node-group") { tags } else { tags.with("karpenter.sh/nodepool", words[1]) },
        }
    }

    #[test]
    fn an_instance_is_chosen_or_it_is_said_why_none_is() {
        let pool = ["i-1 blue 01", "i-2 blue 02", "i-3 blue 03 on-demand", "i-4 red 09", "i-5 blue 08 of-other"];
        let tagged = ["i-1 blue 01 tagged", "i-2 blue 02 tagged"];
        let (only_ones, none) = (
            Err("each Spot instance of cluster `base` is the only node in its node pool"),
            Err("cluster `base` has no running Spot instance launched by Karpenter (tag `aws:eks:cluster-name`)"),
        );
        for (what, rows, named, expected) in [
            ("the newest of a pool with others", &pool[..], "", Ok("i-2 of 3")),
            ("On-Demand nodes take its pods too", &pool[1..3], "", Ok("i-2 of 2")),
            ("named, it may be the only one", &pool[..], "i-4", Ok("i-4 of 1")),
            ("only ones", &pool[3..4], "", only_ones),
            ("no Spot instance", &pool[2..3], "", none),
            ("only tagged, which others can do", &tagged, "", none),
            ("tagged ones do not count", &[tagged[0], pool[1]], "", only_ones),
            ("one that stops does not count", &["i-1 blue 01", "i-2 blue 02 stopping"], "", only_ones),
            ("a node group's", &["i-1 blue 01 node-group"], "i-1", Err("instance `i-1` was not launched by Karpenter")),
        ] {
            let all: Vec<Instance> = rows.iter().map(|row| instance(row)).collect();
            let chosen = choose(&all, &"base".parse().unwrap(), named.parse().ok().as_ref());
            let chosen = chosen.map(|one| format!("{} of {}", one.id, one.nodes));
            assert_eq!(chosen, expected.map(str::to_owned).map_err(str::to_owned), "{what}");
        }
    }
}
