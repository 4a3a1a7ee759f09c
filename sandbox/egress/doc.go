// Package egress is the only way out of a box: a proxy of HTTP in this process,
// with a list of what it lets through.
//
// A List names hosts and ports. What is not on it is refused with status 403 and a
// sentence. A name that is on it leads to no address of this machine, of a private
// network or of a cloud's metadata: the address is looked at when it is connected
// to, after the name was resolved, so that a name cannot change its mind in
// between. Only an address that stands on the list itself is excepted.
//
// A connection carries one request: CONNECT, behind which it is a tunnel, or one
// with an absolute http address. Each is told to Record when it has ended, by host
// and port alone: paths, queries and headers may hold secrets.
//
// The package looks into no tunnel. Whoever serves a name on the list decides what
// becomes of what is sent there.
package egress
