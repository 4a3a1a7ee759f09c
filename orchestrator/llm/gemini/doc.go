// Package gemini asks Google's Gemini models, over the REST form of the
// Generative Language API (v1beta) and Google's generative-ai-go.
//
// That library ended in 2025 and is kept behind [llm.Provider]. It writes the
// question and reads the stream; what it does not know, or does in a way a run
// cannot have, is done at the transport below it:
//
//   - The key is a header of the request, set there. The library never sees
//     it: it would put it into the URL, and so into every error text.
//   - A status that is no success becomes an error before the library sees it:
//     it would ask again after a 503, silently, until the deadline.
//   - The stream is read before the library reads it, see stream: parts that
//     hold thoughts would be taken for the answer, a part without text is an
//     error to it, and reasons to finish that are newer than it read as none.
//
// A question with tools or a schema is written here and not by the library, which knows
// neither JSON schemas nor the signatures of thoughts that later models insist on.
//
// A client is made for each call and holds no connection after it.
package gemini
