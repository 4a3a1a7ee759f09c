package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// Post sends a question as JSON to u and returns the body of the answer, which Close closes. The error is one of RoundTrip, see
// Err.
func (c *Call) Post(ctx context.Context, u string, question any) (io.Reader, error) {
	text, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// Get reads the JSON at u into a value, with the given headers in addition to the key. An answer in another form is an error of
// kind Malformed. Get leaves nothing of the call open.
func (c *Call) Get(ctx context.Context, u string, headers http.Header, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return c.Err(ctx, err)
	}
	if headers != nil {
		r.Header = headers.Clone()
	}
	resp, err := c.RoundTrip(r)
	if err != nil {
		return c.Err(ctx, err)
	}
	defer c.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return c.Err(ctx, err)
	}
	if json.Unmarshal(text, into) != nil {
		return c.Err(ctx, errors.New("the answer is not in the vendor's form"))
	}
	return nil
}
