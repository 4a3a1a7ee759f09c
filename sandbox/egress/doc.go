// Package egress is the only way out of a box: an HTTP proxy in this process, with a list of what it lets through.
//
// A [List] names hosts and ports. The proxy refuses anything else with status 403 and a sentence. A name on the list
// leads to no address of this machine, of a private network or of a cloud's metadata. The address is checked on
// connecting, after the name was resolved, so that a name cannot change its mind in between. The only exception is an
// address that is itself on the list.
//
// A connection carries one request: CONNECT, which turns it into a tunnel, or a request with an absolute http address.
// When it has ended, Record receives its host and port but no more: paths, queries and headers may hold secrets.
//
// The package looks into no tunnel. The server behind a name on the list decides what becomes of the data sent there.
package egress
