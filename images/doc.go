// Package images makes and finds the images from which boxes start, through the BuildKit inside the engine. It is the only
// package that imports BuildKit's client.
//
// # What it makes
//
//	agent-base:<spec>       a root file system of Debian       base.toml
//	agent-toolchain:<spec>  the gates' tools and the guest     toolchain.toml, toolchain/
//	agent-postgres:<spec>   the database of the record         postgres.toml, postgres/
//	agent-deps:<digest>     the toolchain with what a workspace depends on at /deps
//	agent-compiled:<digest> that image with the packages compiled that its Go modules import
//	agent-equip:<digest>    one of these with programs of the user's choice
//	agent-snapshot:<key>    one of these with one workspace at /snapshot
//	agent-runtime:<spec>    git and certificates, for the agent     runtime.toml
//	agent:<source>          the runtime with the agent, built from its own source
//
// A tag is made from the digest of everything that decides the content. So a changed specification, another guest or another
// tree has another tag, and finding an image takes one inspect. The base is what the engine has, else debian:trixie-slim
// from a registry, else made from Debian's packages by mmdebstrap. Packages are pinned as far as Debian's archive keeps old
// versions (see toolchain.toml). The tools themselves are asked what was really installed, and labels keep the answers:
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
// A box has one of the users 20000 to 20999, each with a name and with /tmp as home. The images' own user, 10001:10001,
// installs and owns /deps; no box has it. No file has a setuid or setgid bit, no package list is left, and the environment
// is PATH alone. There is no entry point: the caller that starts a box says what runs. The head of postgres/entrypoint.sh
// describes the Postgres image.
//
// # Dependencies
//
// Install makes the image of what a workspace depends on. The image is named by the digest of the toolchain, the registries
// and what package dependencies keeps of the workspace's files: names, versions and digests of packages. Addresses in lock
// files become addresses in the user's registry; what has no place there is noted and not installed. Packages run no code of
// their own. A package manager that refuses is started again as the project does it, as far as a Set allows; the image's
// Report says what that took. An InstallError says which step cannot be installed, and whose fault that is; the caller
// decides what goes on without it. A box finds the dependencies here:
//
//	/deps/node/<directory>/node_modules   by a link in /work/<directory>, which Snapshot lays next to the files
//	/deps/python                          at the end of every interpreter's path, after the gates' own
//	/deps/go                              the cache of modules, which /usr/lib/agent/go/run sets
//
// Packages of one workspace of npm, yarn or pnpm are links to /work, so that the patched code is imported. The installer
// makes them or, if there is nothing to install, Snapshot lays them as node_modules/<name> where each kind has them. The
// names are those of the installed state, and never lead out of the workspace.
//
// # Go in a box
//
// A gate runs `/usr/lib/agent/go/run go vet -json ./...`, or staticcheck in place of go. The program sets all of Go's environment
// (steps/go_run.sh) and gives the box a cache of links to the image's, some 5,000 in /tmp, whose 64 MiB then remain almost
// free. So a small module is built, vetted and tested in under a second each, and in 120 MB of memory. What the workspace
// brings is compiled in /tmp, so a large workspace needs a larger one. There is no cgo except where it is needed
// (steps/find_c.sh), no race detector and no network: modules that are neither vendored nor installed (see Dependencies) are
// missing. Build flags other than -json and -cover compile the standard library anew, which takes a minute.
//
// # Where tools come from
//
// Debian's packages come from the mirror that the base uses. The engine itself fetches the archives of npm, from the
// registry of NPM_CONFIG_REGISTRY or ~/.npmrc, and refuses any whose SHA-256 is not the recipe's. The Go tools come through
// GOPROXY, from the environment or go's own file; the go.sum in the recipe pins them, and the machine's certificates
// (SSL_CERT_FILE) are trusted. No password is read or sent, so these settings only decide the route.
//
// # Snapshots
//
// The content of a snapshot is that of its Tree and nothing else: no frontend is resolved, and a Dockerfile or .dockerignore
// in the workspace is a file like any other. Directories are 0755, and files keep their permission bits, with read added for
// all. The content is in packs that only a key opens. The key is a label of the image, and the guest gets it over its
// stream: a program under test that could read the state before the patch could answer with the old code. See package
// sealed.
//
// # Near snapshots
//
// A snapshot costs as much as copying the whole workspace, whatever has changed. So a state that differs from a frozen one
// by at most 256 files and 8 MiB of content needs none: Near finds the earlier snapshot, by its tag, and the Delta that
// turns it into the present tree. The caller has every box apply that before anything else. A Delta contains only regular
// files, with the directories that come and go with them: if a link, an empty directory, what is installed or the toolchain
// differs, a snapshot of its own is needed. /snapshot then holds the earlier state, sealed.
//
// # The agent itself
//
// Agent compiles the agent in the toolchain, with its modules installed and without a network, and puts the one resulting
// file on the runtime. Path, flags and compiler are fixed, so that one source on one toolchain gives one program, byte for
// byte; the program's digest is a label. Compiling runs nothing of the source. The caller names the tag, and package
// selfbuild decides which tags are current.
//
// # What it leaves behind
//
// Two snapshots of each workspace stay, and no copy of a workspace in the engine's build cache. Builder.Prune removes the
// rest. A tag appears when the image is complete: an interrupted build leaves none.
//
// # Old engines
//
// Docker 20.10 is the oldest supported engine, and its BuildKit decides how things are done. It has no merge and no diff of
// layers, so every snapshot copies the whole tree. It ignores an image's configuration as an attribute of the exporter. It
// gives the reason of a failure as text only. It waits forever for a local source that breaks off, unless the build is
// ended. And it never cleans its cache.
//
// # Set-up
//
// engine.sh, which make setup calls before this package can do anything, installs and starts an engine on a Debian without one.
//
// # Concurrency
//
// A Builder is safe for concurrent use. Processes of one user that want to build take turns, by a lock file in the user's
// cache directory, and later ones find what the first has built.
package images
