// Package wire holds what vendors that speak HTTP share: one request that carries the key in a header, refuses redirects and bounds
// what it reads; the meaning of a status and of Retry-After; and error texts that hold no key.
//
// A [Call] is below a vendor's client library as its http.RoundTripper. So it judges every answer except a plain success before the
// library can retry it, follow it, or print it together with the request.
//
// The package does not know any vendor: the form of a vendor's errors and of its stream belongs to the vendor's package.
package wire
