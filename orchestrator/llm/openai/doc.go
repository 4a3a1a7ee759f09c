// Package openai asks OpenAI's models, over the Responses API and a small client of its own: of that API a question needs one call
// and a dozen fields.
//
// The package judges a stream only by its last event. A connection that ends before response.completed, response.incomplete or
// response.failed gave no answer, however cleanly it ended.
//
// Nothing is kept at the vendor: every question is asked with store off.
package openai
