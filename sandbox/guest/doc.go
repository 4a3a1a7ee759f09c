// Package guest is the first process of a box and the protocol that it
// speaks.
//
// The host holds the box's standard input and output and exchanges
// frames over them (package wire). The order is fixed, one question at a time:
//
//	guest → host   Ready                      once, when /work is filled
//	host  → guest  Apply, Data…, empty Data   then Applied comes back
//	host  → guest  Run                        then Ended comes back
//
// Control payloads are JSON, Data is a tar stream. The end of the input
// means that the host has gone: the guest kills everything and exits,
// so that no box outlives its owner.
//
// A Run may carry a Watch: then the guest looks for what listens in the box,
// asks it by HTTP, and ends the command once that is ready. It reads one line of
// an answer, which may be anything.
//
// A Run may ask for a way out of the box, which has no network: then the guest
// accepts connections on the loopback, and a Link carries them over the stream,
// beside the command, as channels of frames of their own:
//
//	guest → host   Open                       a program has connected
//	both ways      Piece, Credit, Close       until both ends have closed it
//
// Every channel is closed before Ended. What a program sends is the content of
// pieces and nothing else: no byte of it is ever read as a frame.
//
// The guest runs untrusted programs under its own user ID. It is safe
// from them by three measures: it is not dumpable, so that nobody can
// open its memory or its end of the stream through /proc; every signal
// that it could receive has the default disposition, which the kernel
// never delivers to the first process of a PID namespace (package process); and every
// child gets pipes of its own and no other descriptor. Where the kernel has Landlock a
// program also writes nothing below /proc, so none changes the memory of another, such
// as the one that runs the tests. The host
// nevertheless treats each answer as hostile: see Answer.Check.
//
// The package refuses to be more: it knows no gate, no language, no
// verdict. It uses the standard library and golang.org/x/sys only,
// because it is copied into every image.
package guest
