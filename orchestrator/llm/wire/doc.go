// Package wire is what vendors that speak HTTP share: one request that carries
// the key in a header, refuses redirects and bounds what it reads; the meaning
// of a status and of Retry-After; and error texts that hold no key.
//
// A [Call] stands below a vendor's client library as its http.RoundTripper, so
// that every answer but a plain success is judged here, before the library can
// retry it, follow it, or print it together with the request.
//
// It refuses to know any vendor: how a vendor writes an error, and what its
// stream looks like, is the vendor's package.
package wire
