// Package sandbox runs untrusted programs in boxes. A box is one throwaway container: hardened, without a network, used
// once and destroyed whole. Its user is drawn at random, so that no program can recognise the box by it. No other
// package talks to the Docker engine.
//
// An [Engine] starts boxes from images that hold the guest (package guest) as /agent/guest and a frozen workspace,
// sealed, as /snapshot. A [Box] takes one changeset, then commands one after the other, and is then closed:
//
//	box, err := engine.Start(ctx, spec)
//	…
//	defer box.Close()
//	err = box.Apply(ctx, changeset)
//	result, err := box.Run(ctx, command)
//
// A box has no network. AllowEgress nevertheless gives its commands a way out, over the stream to the guest: an
// [Egress], such as the proxy of package egress, then serves each connection and decides where it may lead.
//
// A [Pool] starts boxes ahead of need. The boxes that a caller declares as wanted wait with /work filled, so that a
// candidate pays neither for create nor for start. The pool hands out each box once, to a caller that asks for the same
// image, delta, limits and runtime. When no box waits, it starts one as the Engine would, so either can serve as the
// Launcher. A caller that releases a box does not wait for its removal either; the pool waits for it, when it is
// closed.
//
//	pool.Want(ctx, spec, 3)
//	…                                // a model thinks
//	box, err := pool.Start(ctx, spec) // some milliseconds
//	…
//	err = box.Release(ctx)
//	…
//	err = pool.Close() // nothing is left
//
// Package turns decides which boxes work at a time: a few for each core of the machine, shared by all processes of a
// user.
//
// What a command does to itself or to its box (timeout, out of memory, death) is part of its result. An error always
// means trouble with the engine or the guest; one that wraps *UnavailableError means that the engine has gone.
//
// To observe every request to the engine and every command, put a [Watcher] into the context: see [Watched].
//
// Every box carries labels that identify its owner: agent.run, agent.owner, agent.lease and agent.purpose. The purpose
// is "pool" for a box that was started ahead of need, even after it was taken. Close removes a box. If its process dies
// first, the guest ends with the stream to it, and a later process removes what is left with Reap.
//
// The package executes nothing on the host, mounts nothing of the host into a box, and judges nothing: its callers
// decide whether a result is a pass.
package sandbox
