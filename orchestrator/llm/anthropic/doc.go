// Package anthropic asks Anthropic's Claude models, by the Messages API and
// Anthropic's own client, anthropic-sdk-go.
//
// That client writes the question and reads the events. What it would let pass is
// judged at the transport below it:
//
//   - The key is a header of the request, set there. The client never sees it, and
//     reads none from the environment.
//   - A status that is no success becomes an error before the client sees it, which
//     would retry it.
//   - The stream is checked before the client reads it, see guard: to it a stream that
//     ends without message_stop is whole, and an event of another form is an empty one.
//
// Breakpoints are set for Anthropic's cache, where they pay: see params.
package anthropic
