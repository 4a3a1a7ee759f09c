// Package gemini asks Google's Gemini models, over the REST form of the Generative Language API (v1beta) and Google's
// generative-ai-go.
//
// That library was discontinued in 2025 and is kept behind [llm.Provider]. It writes the question and reads the stream. The
// transport below it does what the library does not know, or does in a way that a run cannot accept:
//
//   - The transport sets the key in a header of the request. The library never
//     sees it: it would put it into the URL, and so into every error text.
//   - A status other than success becomes an error before the library sees it:
//     it would silently ask again after a 503, until the deadline.
//   - The transport reads the stream before the library does, see stream: the
//     library would take parts with thoughts for the answer, fail on a part
//     without text, and read newer finish reasons than it knows as none.
//
// This package, not the library, writes a question with tools or a schema: the library knows neither JSON schemas nor the
// signatures of thoughts that later models require.
//
// Each call has its own client, which holds no connection afterwards.
package gemini
