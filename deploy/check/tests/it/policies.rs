//! Network policies, as a cluster carries them out.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use k8s_openapi::api::networking::v1::{NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::overlay::Labels;

/// A place that talks or is talked to.
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) at: Where,
    pub(crate) ports: BTreeMap<String, i32>,
}

pub(crate) enum Where {
    /// A pod of the shop.
    Inside(Labels),
    /// A pod in another namespace.
    Elsewhere { namespace: Labels, labels: Labels },
    /// Not in the cluster.
    Address(Ipv4Addr),
}

/// Whether one side lets a client through to a server's port.
pub(crate) type Opens = fn(&[NetworkPolicySpec], &Place, &Place, Door) -> bool;

/// A port and its protocol.
pub(crate) type Door = (i32, &'static str);

impl Place {
    pub(crate) fn is_inside(&self) -> bool {
        self.labels().is_some()
    }

    /// Each port by each protocol.
    pub(crate) fn doors(&self) -> impl Iterator<Item = Door> {
        self.ports.values().flat_map(|port| [(*port, "TCP"), (*port, "UDP")])
    }

    /// The labels of a pod of the shop.
    fn labels(&self) -> Option<&Labels> {
        match &self.at {
            Where::Inside(labels) => Some(labels),
            Where::Elsewhere { .. } | Where::Address(_) => None,
        }
    }
}

/// A direction's policies that select a pod of the shop; empty where the pod is not of the shop.
fn selecting<'a>(
    policies: &'a [NetworkPolicySpec],
    place: &Place,
    direction: &str,
) -> Vec<&'a NetworkPolicySpec> {
    let Some(labels) = place.labels() else { return vec![] };
    let of = |policy: &&NetworkPolicySpec| {
        let types = policy.policy_types.clone().unwrap_or_default();
        types.iter().any(|word| word == direction)
            && policy.pod_selector.as_ref().is_none_or(|selector| matches(selector, labels))
    };
    policies.iter().filter(of).collect()
}

/// Whether the client's side lets it out. No policy at all lets everything out.
pub(crate) fn leaves(
    policies: &[NetworkPolicySpec],
    client: &Place,
    server: &Place,
    door: Door,
) -> bool {
    let policies = selecting(policies, client, "Egress");
    let mut rules = policies.iter().flat_map(|policy| policy.egress.iter().flatten());
    policies.is_empty()
        || rules.any(|rule| is_one_of(&rule.to, server) && covers(&rule.ports, server, door))
}

/// Whether the server's side lets it in.
pub(crate) fn enters(
    policies: &[NetworkPolicySpec],
    client: &Place,
    server: &Place,
    door: Door,
) -> bool {
    let policies = selecting(policies, server, "Ingress");
    let mut rules = policies.iter().flat_map(|policy| policy.ingress.iter().flatten());
    policies.is_empty()
        || rules.any(|rule| is_one_of(&rule.from, client) && covers(&rule.ports, server, door))
}

/// No peers means everybody.
fn is_one_of(peers: &Option<Vec<NetworkPolicyPeer>>, place: &Place) -> bool {
    let peers = peers.clone().unwrap_or_default();
    peers.is_empty() || peers.iter().any(|peer| is(peer, place))
}

fn is(peer: &NetworkPolicyPeer, place: &Place) -> bool {
    let pods = |labels| peer.pod_selector.as_ref().is_none_or(|selector| matches(selector, labels));
    match &place.at {
        // A peer without a namespace means this one.
        Where::Inside(labels) => {
            peer.ip_block.is_none() && peer.namespace_selector.is_none() && pods(labels)
        }
        Where::Elsewhere { namespace, labels } => {
            let namespaces = peer.namespace_selector.as_ref();
            namespaces.is_some_and(|selector| matches(selector, namespace)) && pods(labels)
        }
        Where::Address(address) => {
            let block = peer.ip_block.as_ref();
            block.is_some_and(|block| {
                assert_eq!(block.except, None, "this test knows no exceptions of a block");
                contains(&block.cidr, *address)
            })
        }
    }
}

/// No ports means all of them. A name is looked up at the server.
fn covers(ports: &Option<Vec<NetworkPolicyPort>>, server: &Place, (port, by): Door) -> bool {
    let ports = ports.clone().unwrap_or_default();
    let is_it = |allowed: &NetworkPolicyPort| {
        assert_eq!(allowed.end_port, None, "this test knows no ranges of ports");
        allowed.protocol.as_deref().unwrap_or("TCP") == by
            && match &allowed.port {
                None => true,
                Some(IntOrString::Int(number)) => *number == port,
                Some(IntOrString::String(name)) => server.ports.get(name) == Some(&port),
            }
    };
    ports.is_empty() || ports.iter().any(is_it)
}

fn matches(selector: &LabelSelector, labels: &Labels) -> bool {
    let equal = selector.match_labels.iter().flatten();
    let mut expressions = selector.match_expressions.iter().flatten();
    equal.into_iter().all(|(name, value)| labels.get(name) == Some(value))
        && expressions.all(|expression| {
            assert_eq!(expression.operator, "In", "the only operator that this test knows");
            let values = expression.values.clone().unwrap_or_default();
            labels.get(&expression.key).is_some_and(|value| values.contains(value))
        })
}

fn contains(cidr: &str, address: Ipv4Addr) -> bool {
    let (network, bits) = cidr.split_once('/').expect("a network and its length");
    let network: Ipv4Addr = network.parse().expect("an address");
    let bits: u32 = bits.parse().expect("a length");
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    network.to_bits() & mask == address.to_bits() & mask
}
