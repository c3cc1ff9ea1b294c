//! What `deploy/` holds is right, as far as that can be known without a cluster and without a network.
//! Each overlay is rendered by kustomize, and what comes out is checked: against the API's types, and against
//! sentences that the API does not know.

mod broker;
mod faults;
mod network;
mod observability;
mod overlay;
mod pods;
mod policies;
mod promql;
mod references;
mod scaling;
mod schema;
mod settings;
