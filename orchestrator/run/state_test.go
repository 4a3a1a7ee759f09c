package run

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// People read the drawing in doc.go, so it must match the table.
func TestTheDrawingOfTheStatesIsTheTable(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[State][]State{}
	for line := range strings.Lines(string(text)) {
		from, to, ok := strings.Cut(strings.TrimPrefix(line, "//"), "->")
		if !ok {
			continue
		}
		var next []State
		for _, s := range strings.Fields(to) {
			next = append(next, State(s))
		}
		drawn[State(strings.TrimSpace(from))] = next
	}
	if len(drawn) != len(transitions) {
		t.Errorf("doc.go draws %d states with successors, the table has %d", len(drawn), len(transitions))
	}
	for from, want := range transitions {
		if !slices.Equal(drawn[from], want) {
			t.Errorf("after %s doc.go draws %v, the table has %v", from, drawn[from], want)
		}
	}
}

func TestEveryStateIsListedAndReachable(t *testing.T) {
	reached := map[State]bool{Queued: true}
	for _, from := range States() {
		for _, to := range from.Next() {
			if !slices.Contains(States(), to) {
				t.Errorf("%s leads to %s, which is not listed", from, to)
			}
			reached[to] = true
		}
	}
	for _, s := range States() {
		if !reached[s] {
			t.Errorf("nothing leads to %s", s)
		}
	}
}

func TestFinalStates(t *testing.T) {
	want := []State{Promoted, Done, Rejected, Conflicted, Failed, Cancelled}
	var got []State
	for _, s := range States() {
		if s.Final() {
			got = append(got, s)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("final states are %v, want %v", got, want)
	}
}

func TestAnOrderOfStatesThatTheTableLacksIsRefused(t *testing.T) {
	if err := Verifying.check(Promoting); err == nil {
		t.Error("a candidate went from verifying to promoting without a checkpoint")
	}
	if err := AwaitingApproval.check(Promoting); err != nil {
		t.Error(err)
	}
}

func TestRunNamesSortByTimeAndDiffer(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	seen := map[string]bool{}
	last := ""
	for i := range 500 {
		id := NewID(at.Add(time.Duration(i) * time.Second))
		if len(id) != 12 || strings.Trim(id, "0123456789abcdefghjkmnpqrstvwxyz") != "" {
			t.Fatalf("name %q is not 12 characters of the alphabet", id)
		}
		if id <= last {
			t.Fatalf("%s of a later second sorts before %s", id, last)
		}
		last, seen[id] = id, true
	}
	for range 100 {
		seen[NewID(at)] = true
	}
	if len(seen) < 599 { // one collision among 101 names in a second: 1 in 6,600
		t.Errorf("only %d different names of 600", len(seen))
	}
}
