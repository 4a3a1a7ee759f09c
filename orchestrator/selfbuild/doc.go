// Package selfbuild takes the agent from one image of itself to the next, and back.
//
// It owns the order of the steps, the journal, which survives a kill, the tags, the battery against which a new image is measured, and
// the list of what no program may change without a person. It decides nothing about a patch: the gate does (packages run and verify).
// Package images builds the image.
//
// # Steps
//
//	gate ──► build ──► canary ──► swap ──► trial ──► settled
//	  │        │          │         │        │
//	  └────────┴──────────┘         └────────┴──► the tags go back
//	   nothing has moved
//
// The change is proved like any patch. Then the image is built from the proven tree. The new image proves itself: its doctor, its
// migrations on an empty schema of this version, and the battery, whose verdicts must match those that are written here and those of
// the current image. Only then is the change written to the workspace, and the tags move. During the trial the image's health is
// checked again and again; one bad answer, and the tags go back.
//
// # What is true
//
// The journal, state.json, is the truth: it names the current and the previous version, and the attempt in progress. It is replaced by
// one rename, after its new content is on the disk. The tags NAME:current and NAME:previous follow it, one after the other, and the
// next process that opens the journal repairs what a killed process left. At every instant NAME:current is an image that proved itself.
// A killed attempt is never resumed: its tags go back, and its end is recorded.
//
// # What waits for a person
//
// All packages are linked into one program, so a list of protected paths binds only code that stays within the rules of the language.
// Code that leaves them (see Concern) is refused wherever it is, or waits for a person. By default, every other change waits as well.
//
// # What is kept
//
// For each of the last versions, outside of every workspace:
//
//	state.json                       the journal
//	lock                             held by the one process that rebuilds
//	versions/SOURCE/source.tar       what the image was built from
//	versions/SOURCE/version.json     its image, the digest of its program, the battery's verdicts
//
// The tag NAME:SOURCE keeps the image itself on the engine. SOURCE is the beginning of the source's digest.
//
// # What is not promised
//
// Anybody who may use the engine or write to that directory can do all this by hand. The canary has the engine's socket, as the agent
// always has: it is not a box, and therefore runs only what passed the gate.
package selfbuild
