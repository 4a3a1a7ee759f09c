package vendors_test

import (
	"errors"
	"reflect"
	"testing"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/llm/vendors"
)

// A picture reaches each vendor whose row says that its models accept pictures, and no other vendor.
func TestPicturesAreSentToThoseWhoSee(t *testing.T) {
	t.Parallel()
	seeing := 0
	for _, v := range vendors.All() {
		t.Run(v.Name, func(t *testing.T) {
			k := newTalk(t, v.Name, llmtest.Step{Text: "a red square"})
			k.conf.Links[0].Sees = v.Sees
			req := tooled()
			req.Messages = []llm.Message{{Role: llm.User, Text: "What is this?", Pictures: []llm.Picture{{Type: "image/png", Data: []byte("\x89PNG\x00\xff")}}}}
			a, err := k.ask(t, "r", "turn/1", req)
			if !v.Sees {
				var none *llm.ExhaustedError
				if !errors.As(err, &none) || len(k.server.Requests()) != 0 {
					t.Errorf("%+v, %v", a, err)
				}
				return
			}
			seeing++
			if err != nil || a.Text != "a red square" {
				t.Fatalf("%+v, %v", a, err)
			}
			got := k.server.Requests()[0].Messages[0]
			if got.Text != "What is this?" || !reflect.DeepEqual(got.Pictures, req.Messages[0].Pictures) {
				t.Errorf("it got %+v", got)
			}
			other := req
			other.Messages = []llm.Message{{Role: llm.User, Text: "What is this?", Pictures: []llm.Picture{{Type: "image/png", Data: []byte("another")}}}}
			if llm.Digest(req) == llm.Digest(other) {
				t.Error("another picture is the same question")
			}
		})
	}
	if seeing == 0 {
		t.Error("no vendor sees")
	}
}
