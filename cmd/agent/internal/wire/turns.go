package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"agent/orchestrator/llm"
	"agent/sandbox/workspace/secret/disguise"
)

// turnMark separates the texts of a conversation when credentials are looked for in all of them together: one mark then
// means one credential throughout. No text holds NUL.
const turnMark = "\n\x00\n"

// turnTexts returns pointers to those texts of a request that may hold content of a workspace. It leaves out what a
// vendor wants back unchanged: that was made from texts with marks.
func turnTexts(r *llm.Request) []*string {
	texts := []*string{&r.System}
	for i := range r.Messages {
		m := &r.Messages[i]
		for j := range m.Results {
			texts = append(texts, &m.Results[j].Text)
		}
		texts = append(texts, &m.Text)
		for j := range m.Calls {
			texts = append(texts, &m.Calls[j].Arguments)
		}
	}
	return texts
}

// hideTurns is HideSecrets for a conversation.
func hideTurns(r llm.Request) (hidden llm.Request, restore func(string) string, err error) {
	r.Messages = slices.Clone(r.Messages)
	for i, m := range r.Messages {
		r.Messages[i].Results, r.Messages[i].Calls = slices.Clone(m.Results), slices.Clone(m.Calls)
	}
	texts := turnTexts(&r)
	var all []string
	for _, t := range texts {
		all = append(all, strings.ReplaceAll(*t, "\x00", "\ufffd"))
	}
	whole, restore := disguise.Hide(strings.Join(all, turnMark))
	parts := strings.Split(whole, turnMark)
	if len(parts) != len(texts) { // a credential runs from one text into another
		return r, nil, errors.New("hide credentials in a question: a credential runs from one text into another")
	}
	for i, t := range texts {
		*t = parts[i]
	}
	return r, restore, nil
}

// restored returns an answer with the credentials back in place of their marks.
func restored(a llm.Answer, restore func(string) string) llm.Answer {
	a.Text, a.Calls = restore(a.Text), slices.Clone(a.Calls)
	for i, c := range a.Calls {
		a.Calls[i].Arguments = restoredJSON(c.Arguments, restore)
	}
	return a
}

// restoredJSON puts credentials back into the strings of a JSON text. A text without marks stays byte for byte.
func restoredJSON(text string, restore func(string) string) string {
	if restore(text) == text {
		return text
	}
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil || d.More() {
		return restore(text) // it is refused anyway, and no mark may stay
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(restoredValue(v, restore)) != nil {
		return text
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// restoredValue puts credentials back into the strings of a value.
func restoredValue(v any, restore func(string) string) any {
	switch v := v.(type) {
	case string:
		return restore(v)
	case []any:
		for i := range v {
			v[i] = restoredValue(v[i], restore)
		}
	case map[string]any:
		for k := range v {
			v[k] = restoredValue(v[k], restore)
		}
	}
	return v
}
