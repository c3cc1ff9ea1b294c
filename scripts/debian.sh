# What several scripts need to know about Debian's package mirrors. Sourced, not run.
# shellcheck shell=bash

# mirror_of main|security: the mirror that this machine's apt already uses. Apt itself reads its sources, whichever of
# the two file formats they are in, so no host name is written down here.
mirror_of() {
    # shellcheck disable=SC2016 # apt fills these in, not the shell
    apt-get indextargets --format '$(ORIGIN) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
        awk -v wanted="$1" '
            $1 != "Debian" { next }
            { kind = $2 ~ /-security$/ ? "security" : $2 ~ /-/ ? "other" : "main" }
            kind == wanted && !found { print $3; found = 1 }'
}

# program_of_release SUITE PACKAGE PATH TARGET: takes one statically linked program out of a package of another release
# and puts it at TARGET. This machine's own sources and packages stay as they are.
program_of_release() {
    local suite=$1 package=$2 path=$3 target=$4 mirror work
    mirror=$(mirror_of main)
    if [[ -z $mirror ]]; then
        echo "this machine's apt knows no Debian mirror: add one to its sources" >&2
        return 1
    fi
    work=$(mktemp -d /var/tmp/once-shop-package.XXXXXX)
    chmod 755 "$work" # apt fetches as a user of its own
    mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/root"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$work/sources.list"
    local apart=(-o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work" -o APT::Sandbox::User=root)
    (
        cd "$work"
        apt-get "${apart[@]}" update
        apt-get "${apart[@]}" download "$package"
        dpkg -x ./*.deb root
        install -D -m 755 "root/$path" "$target"
    )
    rm -rf "$work"
}
