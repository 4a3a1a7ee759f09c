// Package sandbox runs untrusted programs in boxes. A box is one
// throwaway container: hardened, without a network, used once,
// destroyed whole. Its user is drawn, for no program to know it by. This
// is the only package that talks to the Docker engine.
//
// An Engine starts boxes from images that hold the guest (package
// guest) as /agent/guest and a frozen workspace, sealed, as /snapshot. A Box
// takes one changeset, then commands one after the other, and is
// closed:
//
//	box, err := engine.Start(ctx, spec)
//	…
//	defer box.Close()
//	err = box.Apply(ctx, changeset)
//	result, err := box.Run(ctx, command)
//
// A box has no network. AllowEgress gives its commands a way out all the same, over
// the stream to the guest: an Egress, such as the proxy of package egress, then
// serves each connection and decides where it may lead.
//
// A Pool starts boxes ahead of need: what is said to be wanted waits with
// /work filled, so that a candidate pays neither for create nor for start.
// It hands out each box once, to a taker that asks for the same image,
// delta, limits and runtime, and is as good a Launcher as the Engine when nothing
// waits. Who releases a box does not wait for its removal either; the pool
// does, when it is closed.
//
//	pool.Want(ctx, spec, 3)
//	…                                // a model thinks
//	box, err := pool.Start(ctx, spec) // some milliseconds
//	…
//	err = box.Release(ctx)
//	…
//	err = pool.Close() // nothing is left
//
// Package turns says whose boxes work: a few for each core of the machine, shared by
// all processes of a user.
//
// What a command does to itself or to its box (timeout, out of memory,
// death) is told by its result. An error always means trouble with the
// engine or the guest; one that wraps *UnavailableError means that the
// engine has gone.
//
// Whoever wants to know of every request to the engine and every command puts a
// Watcher into the context: see Watched.
//
// Every box carries labels that say whose it is: agent.run,
// agent.owner, agent.lease and agent.purpose, which is "pool" for one that
// was started ahead, also after it was taken. Close removes a box; when
// its process died first, the guest ends with the stream to it, and Reap
// of any later process removes what is left.
//
// The package executes nothing on the host, mounts nothing of the host
// into a box, and judges nothing: whether a result is a pass is for
// others to say.
package sandbox
