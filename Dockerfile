# All programs, one image for each:
#
#   docker build --target order-service -t once-shop/order-service .
#
# With `--build-arg LAB=on` they have crash points and calls that break them, for learning: never in production.
#
# Nothing here is tied to a processor: `docker buildx build --platform linux/amd64,linux/arm64` builds for both.
# There is no `# syntax=` line, so nothing but the two base images is fetched from a registry.

# ------------------------------------------------------------------------------------------------------ the build

FROM rust:1.95-slim-trixie AS rust
WORKDIR /shop
# By package, without default features: what the feature `lab` brings is in no image that does not ask for it.
ARG LAB=off
# No link-time optimization: for five programs it took four times as long as compiling everything, dependencies included.
ENV CARGO_INCREMENTAL=0 \
    CARGO_PROFILE_RELEASE_LTO=false \
    LAB=$LAB \
    LAB_FEATURES="--features order-service/lab,inventory-service/lab,outbox-relay/lab,playground/lab" \
    PROGRAMS="-p order-service -p inventory-service -p outbox-relay -p migrations -p playground --no-default-features"

# The workspace with every source file left out. What comes out of this stage changes only with a manifest or the lock
# file, and Docker goes by contents: as long as they stay the same, so does the layer of compiled dependencies below.
FROM rust AS manifests
COPY . /all
RUN cd /all \
    && find . -name Cargo.toml -o -name Cargo.lock | xargs cp --parents -t /shop \
    && cd /shop \
    && for manifest in */Cargo.toml */*/Cargo.toml */*/*/Cargo.toml; do \
        package=$(dirname "$manifest"); \
        if [ -f "$manifest" ]; then mkdir -p "$package/src" && touch "$package/src/lib.rs"; fi; \
        if [ -f "/all/$package/src/main.rs" ]; then echo 'fn main() {}' > "$package/src/main.rs"; fi; \
    done

FROM rust AS dependencies
COPY --from=manifests /shop .
RUN cargo build --locked --release $PROGRAMS $([ "$LAB" = on ] && echo "$LAB_FEATURES")

FROM dependencies AS build
COPY . .
# The files of a check-out may be older than the empty ones that were just compiled, and Cargo goes by the time.
RUN find migrations services shared -name '*.rs' -exec touch {} + \
    && cargo build --locked --release $PROGRAMS $([ "$LAB" = on ] && echo "$LAB_FEATURES") \
    && mkdir /programs \
    && cd target/release \
    && cp order-service inventory-service outbox-relay migrate playground /programs

# ----------------------------------------------------------------------------------------------------- the images

# A program needs the C library of the base and nothing else: no shell, no file that it could write to.
FROM debian:trixie-slim AS runtime
USER 65532:65532
WORKDIR /
STOPSIGNAL SIGTERM

FROM runtime AS migrate
COPY --from=build /programs/migrate /usr/local/bin/
ENTRYPOINT ["migrate"]

FROM runtime AS order-service
COPY --from=build /programs/order-service /usr/local/bin/
ENV HTTP_ADDR=0.0.0.0:8080
EXPOSE 8080
HEALTHCHECK --interval=3s --timeout=5s --start-period=30s --retries=3 CMD ["order-service", "healthcheck"]
ENTRYPOINT ["order-service"]

FROM runtime AS inventory-service
COPY --from=build /programs/inventory-service /usr/local/bin/
ENV HTTP_ADDR=0.0.0.0:8081
EXPOSE 8081
HEALTHCHECK --interval=3s --timeout=5s --start-period=30s --retries=3 CMD ["inventory-service", "healthcheck"]
ENTRYPOINT ["inventory-service"]

FROM runtime AS outbox-relay
COPY --from=build /programs/outbox-relay /usr/local/bin/
ENV HTTP_ADDR=0.0.0.0:8082
EXPOSE 8082
HEALTHCHECK --interval=3s --timeout=5s --start-period=30s --retries=3 CMD ["outbox-relay", "healthcheck"]
ENTRYPOINT ["outbox-relay"]

FROM runtime AS playground
COPY --from=build /programs/playground /usr/local/bin/
ENV HTTP_ADDR=0.0.0.0:8090
EXPOSE 8090
HEALTHCHECK --interval=3s --timeout=5s --start-period=30s --retries=3 CMD ["playground", "healthcheck"]
ENTRYPOINT ["playground"]
