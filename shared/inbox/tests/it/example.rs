//! The README's example is a program, and does what the README says.

use test_kit::Example;

const EXAMPLE: Example = Example {
    readme: include_str!("../../README.md"),
    source: include_str!("../../examples/consume_once.rs"),
    name: "consume_once",
};

#[test]
fn the_example_prints_what_the_readme_says() {
    EXAMPLE.prints_what_the_readme_says();
}

#[test]
fn the_readme_shows_the_example_as_it_is() {
    EXAMPLE.is_shown_as_it_is();
}
