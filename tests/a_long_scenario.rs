//! Scenarios with long waits. Tests start in the order of their names, so these are among the first, and no run ends with one.

crate::scenario::scenarios! {
    adopt
    dead_letters
    drill
    events_of_clusters
    faulty_hub
    interrupted_redrive
    many_clusters
    probes
    records
    settings
}
