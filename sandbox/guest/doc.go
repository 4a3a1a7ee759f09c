// Package guest is the first process of a box and the protocol that it speaks.
//
// The host holds the box's standard input and output and exchanges frames over them (package wire). The order is fixed,
// one question at a time:
//
//	host  → guest  Key                          once, the key of the snapshot
//	guest → host   Ready                        once, when /work is filled
//	host  → guest  Apply, Data…, empty Data     then Applied comes back
//	host  → guest  Run                          then Ended comes back
//	host  → guest  Extract, Data…, empty Data   then Data…, empty Data, Extracted come back
//
// Control payloads are JSON, except the Key. Data is a tar stream, but after Extract the host lists the known files there, in
// JSON. When the input ends, the host has gone: the guest kills everything and exits, so that no box outlives its owner.
//
// A Run may carry a [Watch]. The guest then looks for what listens in the box, asks it by HTTP, and ends the command
// once that is ready. It reads one line of an answer, which may be anything.
//
// A Run may ask for a way out of the box, which has no network. The guest then accepts connections on the loopback, and
// a Link carries them over the stream, alongside the command, as channels with frames of their own:
//
//	guest → host   Open                       a program has connected
//	both ways      Piece, Credit, Close       until both ends have closed it
//
// Every channel is closed before Ended. What a program sends only becomes the content of pieces: no byte of it is ever
// read as a frame.
//
// The guest runs untrusted programs under its own user ID. Three measures protect it from them. It is not dumpable, so
// no program can open its memory or its end of the stream through /proc. Every signal that it could receive has the
// default disposition, which the kernel never delivers to the first process of a PID namespace (package process). Every
// child gets pipes of its own and no other descriptor. If the kernel has Landlock, a program also writes nothing below
// /proc, so none changes the memory of another, such as the one that runs the tests. The host nevertheless treats each
// answer as hostile: see [Answer.Check].
//
// The package refuses to be more: it knows no gate, no language, no verdict. Outside the project it uses only the
// standard library, golang.org/x/sys and, in package names, golang.org/x/net, because it is copied into every image.
package guest
