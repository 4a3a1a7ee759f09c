// Package images makes and finds the images that boxes are started from, through the BuildKit inside the
// engine. It is the only package that imports BuildKit's client.
//
// # What it makes
//
//	agent-base:<spec>       a root file system of Debian       base.toml
//	agent-toolchain:<spec>  the gates' tools and the guest     toolchain.toml, toolchain/
//	agent-postgres:<spec>   the database of the record         postgres.toml, postgres/
//	agent-deps:<digest>     the toolchain with what a workspace depends on at /deps
//	agent-snapshot:<key>    one of these with one workspace at /snapshot
//	agent-runtime:<spec>    git and certificates, for the agent     runtime.toml
//	agent:<source>          the runtime with the agent, built from its own source
//
// A tag is made from the digest of all that decides the content, so that a
// changed specification, another guest, or another tree is another tag, and finding is one inspect. The base
// is what the engine has, else debian:trixie-slim of a registry, else made from Debian's packages by
// mmdebstrap. Packages are pinned as far as Debian's archive keeps old versions (see toolchain.toml); what was really
// installed is asked of the tools themselves and kept in labels:
//
//	agent.image, agent.spec         which image, and the digest of its specification
//	agent.tool.<tool>               its version
//	agent.package.<package>         its version in Debian
//	agent.moved                     pins that the archive no longer had
//	agent.snapshot, agent.workspace the digest of a snapshot's tree, and where it was taken
//	agent.taken                     when
//	agent.source, agent.program     the digests of the agent's source, and of the program in it
//
// # Inside the toolchain
//
//	/usr/lib/agent/npm/NAME   archives of npm, with links in /usr/local/bin: tsc pyright biome node24 npm pnpm yarn
//	/usr/lib/agent/go/run     how a gate starts Go and staticcheck
//	/usr/lib/agent/go-cache   the standard library compiled, vetted and tested, for that
//	/agent/guest     the guest, process 1 of every box, in the last layer
//	/agent/*         the files of toolchain/, read-only; one of them, trace.pth, is where interpreters of Python look,
//	                 and has them know the workspace's own distributions
//	/snapshot        empty here, the workspace in a snapshot, sealed
//	/work            empty; a box mounts a tmpfs there, and works in it
//
// A box has one of the users 20000 to 20999, each with a name and /tmp for a home. The images' own user, 10001:10001,
// installs and owns /deps, and no box has it. No file has a setuid or setgid bit, no package list is left, and
// the environment is PATH alone. There is no entry point: whoever starts a box says what runs.
// The facts of the Postgres image stand at the top of postgres/entrypoint.sh.
//
// # Dependencies
//
// Install makes the image of what a workspace depends on. It is named by the digest of the toolchain, the registries and
// what package dependencies keeps of the workspace's files: names, versions and digests of packages. Addresses in lock files
// become addresses in the user's registry; what has no place there is noted and not installed. Packages run no code of
// their own. A package manager that refuses is started again as the project does it, as far as a Set allows; what it took is the
// image's Report. Which step cannot be installed, and by whose fault, an InstallError says; what goes on without it is the caller's
// choice. A box finds them so:
//
//	/deps/node/<directory>/node_modules   by a link in /work/<directory>, which Snapshot lays beside the files
//	/deps/python                          at the end of every interpreter's path, after the gates' own
//	/deps/go                              the cache of modules, which /usr/lib/agent/go/run sets
//
// Packages of one workspace of npm, yarn or pnpm are links to /work, so that the patched code is what is imported: made
// by the installer or, where there is nothing to install, laid by Snapshot as node_modules/<name> where each kind has them. The
// names are those of the state that is installed, and never lead out of the workspace.
//
// # Go in a box
//
// A gate runs `/usr/lib/agent/go/run go vet -json ./...` and, in the place of go, staticcheck. The program sets all of
// Go's environment (steps/go_run.sh) and gives the box a cache of links to that of the image, some 5,000 in
// /tmp, where 64 MiB are then nearly free: a small module is built, vetted and tested in under a second each, and in
// 120 MB of memory. What the workspace brings is compiled there, so that a large one needs a larger /tmp. There is no
// cgo but where it is needed (steps/find_c.sh), no race detector and no network: modules that are neither vendored nor installed (see Dependencies) are missing. Other build flags than
// -json and -cover compile the standard library anew, which takes a minute.
//
// # Where tools come from
//
// Debian's packages come from the mirror that the base uses. The engine itself fetches the archives of npm, from the
// registry of NPM_CONFIG_REGISTRY or ~/.npmrc, and refuses any whose SHA-256 is not the recipe's. The Go
// tools come through GOPROXY, from the environment or go's own file, are held by the go.sum in the recipe, and trust the
// machine's certificates (SSL_CERT_FILE). No password is read or sent, so these settings decide nothing but the way.
//
// # Snapshots
//
// A snapshot's content is that of its Tree and of nothing else: no frontend is
// resolved, and a Dockerfile or .dockerignore in the workspace is a file like any other. Directories are 0755, and
// files keep their permission bits with read for all added. It lies there in packs that only a key opens, which is a
// label of the image and which the guest gets over its stream: a program under test that could read the state before
// the patch could answer with the old code. See package sealed.
//
// # Near snapshots
//
// A snapshot costs what copying all of a workspace costs, whatever has changed. So a state that differs from a frozen
// one by at most 256 files and 8 MiB of content needs none: Near finds the earlier snapshot, by its tag, and says what
// makes the present tree of it. The caller has every box apply that before anything else. Only regular files are in it,
// with the directories that come and go with them: where a link, an empty directory, what is installed or the
// toolchain is another, the answer is a snapshot of its own. /snapshot then holds the earlier state, sealed.
//
// # The agent itself
//
// Agent compiles the agent in the toolchain, with its modules installed and without a network, and puts the one file
// that comes of it on the runtime. Place, flags and compiler are fixed, so that one source on one toolchain is one
// program, byte for byte; its digest is a label. Compiling runs nothing of the source. The caller names the tag, and
// which of them are current, package selfbuild decides.
//
// # What it leaves behind
//
// Two snapshots of each workspace, and no copy of a workspace in the engine's build cache. Builder.Prune takes the
// rest. A tag appears when the image is whole: an interrupted build leaves none.
//
// # Old engines
//
// Docker 20.10 is the oldest engine that is served, and its BuildKit decides how things are done: it has no
// merge and no diff of layers, so that every snapshot copies the whole tree; it ignores an image's configuration as
// an attribute of the exporter; it gives the reason of a failure as text only; it waits for ever on a local
// source that breaks off, unless the build is ended; and it never cleans its cache.
//
// # Set-up
//
// engine.sh, which make setup calls before this package can do anything,
// installs and starts an engine on a Debian that has none.
//
// # Concurrency
//
// A Builder is safe for concurrent use. Processes of one user that want to build take turns, by a lock file in
// the user's cache directory, and the later ones find what the first has built.
package images
