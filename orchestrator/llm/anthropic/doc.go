// Package anthropic asks Anthropic's Claude models, over the Messages API and Anthropic's own client, anthropic-sdk-go.
//
// That client writes the question and reads the events. The transport below it judges what the client would let pass:
//
//   - The transport sets the key in a header of the request. The client never sees
//     it, and reads none from the environment.
//   - A status other than success becomes an error before the client sees it, which
//     would retry it.
//   - The transport checks the stream before the client reads it, see guard: the client
//     takes a stream that ends without message_stop for whole, and an event of another
//     form for an empty one.
//
// The package sets breakpoints for Anthropic's cache where they pay off: see params.
package anthropic
