// Package selfbuild takes the agent from one image of itself to the next, and back.
//
// It owns the order of the steps, the journal that a kill does not harm, the tags, the battery that a new image is
// measured by, and what no program may change without a person. It decides nothing about a patch: that is
// the gate's (packages run and verify), and the image is built by package images.
//
// # Steps
//
//	gate ──► build ──► canary ──► swap ──► trial ──► settled
//	  │        │          │         │        │
//	  └────────┴──────────┘         └────────┴──► the tags go back
//	   nothing has moved
//
// The change is proved as any patch is. Then the image is built from the proven tree; the new image proves itself: its
// doctor, its migrations on an empty schema of this version, and the battery, whose verdicts must be those that are
// written here and those of the current image. Only then is the change written to the workspace, and the tags move.
// Within the trial the image is asked again and again how it is; one bad answer and the tags go back.
//
// # What is true
//
// The journal, state.json, is: it names the current and the previous version, and the attempt that goes on. It is
// replaced by one rename, after it is on the disk. The tags NAME:current and NAME:previous follow it, one after the
// other, and whoever opens the journal first puts right what a killed process left. At every instant NAME:current is an
// image that proved itself. An attempt that was killed is never carried on: its tags go back, and its end is recorded.
//
// # What waits for a person
//
// All packages are linked into one program, so a list of protected paths binds only what stays within the rules of the
// language. What leaves them (see Concern) is refused wherever it stands, or waits for a person; and by default so does
// every other change.
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
// and the tag NAME:SOURCE, which keeps the image itself on the engine. SOURCE is the beginning of the source's digest.
//
// # What is not promised
//
// Who may use the engine or write to that directory may do all this by hand. The canary has the engine's socket, as the
// agent always has: it is no box, and so runs only what passed the gate.
package selfbuild
