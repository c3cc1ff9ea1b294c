//! The compose stack, as users start it: containers are killed, servers restarted, nodes lost, all
//! under load. Run by `scripts/check-compose`, which builds the images first.

mod confined;
mod files;
mod kills;
mod load;
mod mistakes;
mod overlays;
mod stack;
mod tidy;
